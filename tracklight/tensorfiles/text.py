"""Vectors as text: a line for each, numbers between tabs, and maybe its label before them."""

from __future__ import annotations

import contextlib
import io
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from tracklight.errors import FormatError, UsageError
from tracklight.tensorfiles.model import MAX_BYTES, Labels, TensorInfo, check_bytes
from tracklight.tensorfiles.place import measure, read_array
from tracklight.types import Float32


class TextFile:
    """A ``.tsv`` file of vectors; it is read whole when somebody first looks at it."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._name = name
        labels, self._vectors = read_vectors(file)
        self.labels: Labels = {"label": labels} if labels else {}

    def tensors(self) -> Sequence[TensorInfo]:
        return [TensorInfo(self._name, self._name, "float32", self._vectors.shape)]

    def read(self, key: str) -> NDArray[Any]:
        if key != self._name:
            raise UsageError(f'the file has no tensor "{key}"')
        return self._vectors


def read_vectors(file: BinaryIO, max_bytes: int = MAX_BYTES) -> tuple[list[str], Float32]:
    """The labels, if any, and the vectors of a text of tab-separated numbers.

    A line is a vector. Lines with nothing in them are passed over.
    """
    if measure(file) > max_bytes:
        raise FormatError(f"a text of more than {max_bytes >> 20} MiB, the most that is read")
    try:
        with _as_text(file) as lines:
            return _parse(lines)
    except UnicodeDecodeError:
        raise FormatError(
            "a file of vectors that is no text; raw numbers need a tensor_shape that fits them"
        ) from None
    except ValueError:
        with _as_text(file) as lines:
            raise FormatError(_explain(lines)) from None


def read_raw(file: BinaryIO, shape: Sequence[int]) -> Float32:
    """Vectors as the memory of float32 numbers."""
    rows, columns = shape if len(shape) == 2 else (0, 0)
    size, there = check_bytes([rows, columns], 4), measure(file)
    if not size or size != there:
        raise FormatError(
            f"a file of {there} bytes, where tensor_shape {list(shape)} makes {size} of them"
        )
    return read_array(file, 0, np.dtype("<f4"), (rows, columns))


@contextlib.contextmanager
def _as_text(file: BinaryIO) -> Iterator[Iterator[str]]:
    file.seek(0)
    text = io.TextIOWrapper(file, "utf-8")
    try:
        yield text
    finally:
        text.detach()  # or the file would be closed along with it


def _parse(lines: Iterator[str]) -> tuple[list[str], Float32]:
    lines = filter(str.strip, lines)
    first = next(lines, None)
    if first is None:
        raise FormatError("a file of vectors with nothing in it")
    lines = itertools.chain([first], lines)
    if is_number(first.split("\t")[0]):
        return [], _parse_numbers(lines)
    rows = [line.partition("\t") for line in lines]
    if not all(row[2].strip() for row in rows):
        raise ValueError("a label without numbers")
    return [row[0] for row in rows], _parse_numbers(row[2] for row in rows)


def _parse_numbers(lines: Iterable[str]) -> Float32:
    return np.loadtxt(lines, np.float32, comments=None, delimiter="\t", ndmin=2)


def _explain(lines: Iterable[str]) -> str:
    """What is wrong with the first line that is not like the one before."""
    width = 0
    for number, line in enumerate(lines, 1):
        cells = line.rstrip("\r\n").split("\t")
        if not line.strip():
            continue
        if width and len(cells) != width:
            return f"line {number} has {len(cells)} cells between tabs, those before {width}"
        width = len(cells)
        for cell in cells[1:] or cells:
            if not is_number(cell):
                return f'line {number} has "{cell:.40}" where a number is wanted'
    return "the first cell of some lines is a number and of others it is not"


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
