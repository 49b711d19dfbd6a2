"""Vectors of an embedding, made fit to be looked at: rows of float32 numbers."""

from __future__ import annotations

import contextlib
import math
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from tracklight.embeddings.model import Kind, Version
from tracklight.errors import FormatError
from tracklight.tensorfiles.bundle import Checkpoint
from tracklight.tensorfiles.model import Labels, TensorFile
from tracklight.tensorfiles.opening import open_tensor_file
from tracklight.tensorfiles.place import Place, measure
from tracklight.tensorfiles.text import TextFile, read_raw
from tracklight.types import Bool, Float32


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """All vectors of an embedding, and which of them hold only finite numbers."""

    values: Float32
    usable: Bool
    problems: tuple[str, ...] = ()
    labels: Labels = field(default_factory=dict)
    """Columns that the file holds beside the vectors."""


def read_vectors(place: Place, version: Version) -> Vectors:
    """The vectors of an embedding at one step; raises FormatError where they can be none."""
    name = posixpath.basename(version.path)
    if version.kind == "plain":
        with place.open(version.path) as file:
            labels, array = _read_plain(file, name, version.shape)
            return replace(as_vectors(array, name), labels=labels)
    with open_tensors(place, version.kind, version.path) as tensors:
        return take_vectors(tensors, version.key or tensors.tensors()[0].key)


def take_vectors(tensors: TensorFile, key: str) -> Vectors:
    """A tensor of a file, with the labels that are beside it."""
    labels = getattr(tensors, "labels", {})
    return replace(as_vectors(tensors.read(key), key), labels=labels)


@contextlib.contextmanager
def open_tensors(place: Place, kind: Kind, path: str) -> Iterator[TensorFile]:
    """The tensors of a checkpoint or of another file."""
    if kind == "checkpoint":
        yield Checkpoint(place, path)
        return
    with place.open(path) as file:
        yield open_tensor_file(file, posixpath.basename(path))


def _read_plain(file: BinaryIO, name: str, shape: tuple[int, ...]) -> tuple[Labels, NDArray[Any]]:
    """A text of numbers, or where it is no text, their memory."""
    try:
        text = TextFile(file, name)
        return text.labels, text.read(name)
    except FormatError as error:
        if shape and measure(file) == 4 * math.prod(shape):
            return {}, read_raw(file, shape)
        raise FormatError(f'"{name}" cannot be read: {error}') from None


def as_vectors(array: NDArray[Any], name: str) -> Vectors:
    """Rows of numbers; further dimensions are laid side by side."""
    if array.dtype.kind not in "biuf":
        raise FormatError(f'"{name}" holds no plain numbers, of which vectors are made')
    if array.ndim < 2:
        raise FormatError(
            f'"{name}" has the shape {list(array.shape)}; vectors are the rows of two dimensions'
        )
    rows = array.shape[0]
    values = np.ascontiguousarray(array.reshape(rows, -1) if array.size else array, np.float32)
    if rows < 2:
        raise FormatError(f'"{name}" has {rows} rows; there have to be at least 2 to be compared')
    if values.ndim != 2 or values.shape[1] < 2:
        raise FormatError(
            f'"{name}" has vectors of {values.shape[1]} number; a plane needs at least 2 of them'
        )
    return _mark_usable(values, name)


def _mark_usable(values: Float32, name: str) -> Vectors:
    # A sum shows NaN without a mask as large as the vectors; it may also be just too large.
    with np.errstate(all="ignore"):
        usable: Bool = np.isfinite(values.sum(axis=1))
    usable[~usable] = np.isfinite(values[~usable]).all(axis=1)
    count = len(values) - int(np.count_nonzero(usable))
    if count == len(values):
        raise FormatError(f'every vector of "{name}" holds NaN or an infinite number')
    if not count:
        return Vectors(values, usable)
    verb = "holds" if count == 1 else "hold"
    sentence = (
        f"{count} of {len(values)} vectors {verb} NaN or an infinite number; they are left out"
    )
    return Vectors(values, usable, (sentence,))
