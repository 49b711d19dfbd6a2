"""An embedding as it is offered: its name, and the versions of it that training left."""

from __future__ import annotations

import contextlib
import io
import math
import posixpath
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.embeddings.metadata import LabelColumn, make_label_column, read_metadata
from tracklight.errors import FormatError, TracklightError, UsageError
from tracklight.formats.checkpoints.registry import open_tensor_file
from tracklight.formats.checkpoints.tables import TsvFile, read_raw_vectors
from tracklight.formats.checkpoints.tensor_file import LabelColumns, TensorFile, get_file_size
from tracklight.formats.checkpoints.tf_checkpoint import TensorFlowCheckpoint
from tracklight.logdir.confined_files import ConfinedFiles
from tracklight.types import Bool, Float32, Int32

#: A checkpoint by its prefix, any other file that holds tensors, or text or raw memory.
StorageKind = Literal["checkpoint", "file", "plain"]


@dataclass(frozen=True, slots=True)
class EmbeddingVersion:
    """An embedding at one step of training; paths are whole."""

    step: int | None
    kind: StorageKind
    path: str
    key: str = ""
    """What the file calls the tensor; empty where it holds only one."""
    shape: tuple[int, ...] = ()
    """Empty where only reading the vectors can tell."""
    metadata_path: str = ""
    sprite_path: str = ""
    sprite_size: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Embedding:
    """Vectors that go by one name in a run."""

    run: str
    name: str
    versions: tuple[EmbeddingVersion, ...] = ()
    """From the first step to the last."""
    bookmarks_path: str = ""
    problem: str = ""
    """A sentence on why there is none."""


# Vectors of an embedding, made fit to be looked at: rows of float32 numbers.


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """All vectors of an embedding, and which of them hold only finite numbers."""

    values: Float32
    usable: Bool
    problems: tuple[str, ...] = ()
    labels: LabelColumns = field(default_factory=dict)
    """Columns that the file holds beside the vectors."""


def read_vectors(files: ConfinedFiles, version: EmbeddingVersion) -> Vectors:
    """The vectors of an embedding at one step; raises FormatError where they can be none."""
    name = posixpath.basename(version.path)
    if version.kind == "plain":
        with files.open(version.path) as file:
            labels, array = _read_plain(file, name, version.shape)
            return replace(make_vectors(array, name), labels=labels)
    with open_tensors(files, version.kind, version.path) as tensors:
        return read_tensor_vectors(tensors, version.key or tensors.list_tensors()[0].key)


def read_tensor_vectors(tensors: TensorFile, key: str) -> Vectors:
    """A tensor of a file, with the labels that are beside it."""
    labels = getattr(tensors, "labels", {})
    return replace(make_vectors(tensors.read(key), key), labels=labels)


@contextlib.contextmanager
def open_tensors(files: ConfinedFiles, kind: StorageKind, path: str) -> Iterator[TensorFile]:
    """The tensors of a checkpoint or of another file."""
    if kind == "checkpoint":
        yield TensorFlowCheckpoint(files, path)
        return
    with files.open(path) as file:
        yield open_tensor_file(file, posixpath.basename(path))


def _read_plain(
    file: BinaryIO, name: str, shape: tuple[int, ...]
) -> tuple[LabelColumns, NDArray[Any]]:
    """A text of numbers, or where it is no text, their memory."""
    try:
        text = TsvFile(file, name)
        return text.labels, text.read(name)
    except FormatError as error:
        if shape and get_file_size(file) == 4 * math.prod(shape):
            return {}, read_raw_vectors(file, shape)
        raise FormatError(f'"{name}" cannot be read: {error}') from None


def make_vectors(array: NDArray[Any], name: str) -> Vectors:
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
    return _check_finite(values, name)


def _check_finite(values: Float32, name: str) -> Vectors:
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


# Sheets of pictures, one for each point, row by row from the upper left.


@dataclass(frozen=True, slots=True)
class SpriteSheet:
    """A sheet that is ``columns`` pictures wide; sizes are in pixels."""

    width: int
    height: int
    cell_width: int
    cell_height: int
    columns: int


def read_sprite_sheet(file: BinaryIO, size: Sequence[int], count: int) -> SpriteSheet:
    """How a sheet of ``count`` pictures is divided; only its head is read.

    ``size`` is the width and height of one picture; without it the grid is taken for square.
    """
    width, height = _read_image_size(file)
    if len(size) == 2 and all(size):
        cell_width, cell_height = size
    else:
        side = math.ceil(math.sqrt(count))
        cell_width, cell_height = width // side, height // side
    columns = width // cell_width if cell_width else 0
    rows = height // cell_height if cell_height else 0
    if columns * rows < count:
        raise FormatError(
            f"the sprite is {width} x {height} pixels, which has room for {columns * rows} "
            f"pictures of {cell_width} x {cell_height}, not for {count}"
        )
    return SpriteSheet(width, height, cell_width, cell_height, columns)


def _read_image_size(file: BinaryIO) -> tuple[int, int]:
    from PIL import Image, UnidentifiedImageError

    file.seek(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(file) as picture:
                width, height = picture.size
                return width, height
    except UnidentifiedImageError:  # which names the file by its address in memory
        raise FormatError("the sprite is no picture of a kind that is known") from None
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise FormatError(f"the sprite is no picture that can be read: {error}") from None


# An embedding that is looked at: its vectors, its labels and its pictures.


@dataclass(frozen=True, eq=False)
class LoadedEmbedding:
    """Vectors and what is known of each; problems are sentences on what does not fit."""

    vectors: Vectors
    columns: Sequence[LabelColumn] = ()
    sprite: SpriteSheet | None = None
    open_sprite: Callable[[], BinaryIO] = io.BytesIO
    problems: Sequence[str] = ()
    revision: int = 0
    """Grows with every edit of labels."""

    @property
    def row_count(self) -> int:
        return len(self.vectors.values)

    @property
    def size_bytes(self) -> int:
        return int(self.vectors.values.nbytes) + 50 * self.row_count * len(self.columns)

    def get_column(self, name: str) -> LabelColumn:
        for column in self.columns:
            if column.name == name:
                return column
        raise UsageError(f'there is no column "{name}" among the labels')

    def select_rows(self, bits: bytes | None) -> Int32 | None:
        """The rows of which a bit is set and whose vectors are usable; None for all."""
        usable = self.vectors.usable
        if bits is None:
            return None if usable.all() else np.flatnonzero(usable).astype(np.int32)
        return np.flatnonzero(decode_row_bits(bits, self.row_count) & usable).astype(np.int32)

    def get_vectors(self, rows: Int32 | None, spherize: bool = False) -> Float32:
        """Vectors of some rows; spherized they are around their middle and of length 1."""
        vectors = self.vectors.values if rows is None else self.vectors.values[rows]
        return _spherize(vectors) if spherize else vectors


def load_embedding(files: ConfinedFiles, version: EmbeddingVersion) -> LoadedEmbedding:
    """Read an embedding; only vectors that cannot be read are an error."""
    vectors = read_vectors(files, version)
    opened = from_vectors(vectors)
    if version.metadata_path:
        opened = with_labels(opened, lambda: files.open(version.metadata_path))
    if version.sprite_path:
        size = version.sprite_size
        opened = with_sprite(opened, lambda: files.open(version.sprite_path), size)
    return opened


def from_vectors(vectors: Vectors) -> LoadedEmbedding:
    columns = [make_label_column(name, cells) for name, cells in vectors.labels.items()]
    return LoadedEmbedding(vectors, columns, problems=vectors.problems)


def with_labels(embedding: LoadedEmbedding, open_file: Callable[[], BinaryIO]) -> LoadedEmbedding:
    """With the labels of a file; where they cannot be read, a sentence instead."""
    try:
        with open_file() as file:
            metadata = read_metadata(file, embedding.row_count)
    except (TracklightError, OSError) as error:
        return _add_problem(embedding, f"there are no labels: {error}")
    columns = [make_label_column(name, cells) for name, cells in metadata.columns.items()]
    return replace(embedding, columns=columns, problems=[*embedding.problems, *metadata.problems])


def with_sprite(
    embedding: LoadedEmbedding, open_file: Callable[[], BinaryIO], size: Sequence[int] = ()
) -> LoadedEmbedding:
    """With the pictures of a file; where they cannot be read, a sentence instead."""
    try:
        with open_file() as file:
            sprite = read_sprite_sheet(file, size, embedding.row_count)
    except (TracklightError, OSError) as error:
        return _add_problem(embedding, f"there are no pictures: {error}")
    return replace(embedding, sprite=sprite, open_sprite=open_file)


def _add_problem(embedding: LoadedEmbedding, problem: str) -> LoadedEmbedding:
    return replace(embedding, problems=[*embedding.problems, problem])


def decode_row_bits(bits: bytes, count: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """A bit for each row; those that are missing at the end are not set."""
    if len(bits) > (count + 7) // 8:
        raise UsageError(f"{len(bits)} bytes of bits are more than {count} points have")
    found = np.zeros(count, np.bool_)
    set_bits = np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little")[:count]
    found[: len(set_bits)] = set_bits
    return found


def _spherize(vectors: Float32) -> Float32:
    middle = vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
    centred: Float32 = vectors - middle
    lengths = np.sqrt(np.einsum("ij,ij->i", centred, centred, dtype=np.float64))
    centred /= np.where(lengths, lengths, 1).astype(np.float32)[:, None]
    return centred


# Which points of two embeddings are the same.

#: Stands for the column by which rows of two embeddings are best matched.
AUTO_COLUMN = ""


def match_rows(first: LoadedEmbedding, second: LoadedEmbedding, column: str | None) -> Int32:
    """For each of my rows the one of the others, -1 for none.

    Rows are the same where a column of both has the same text, of which the first counts; without
    a column, where they have the same number.
    """
    if column is None:
        rows = np.arange(first.row_count, dtype=np.int32)
        return np.where(rows < second.row_count, rows, -1).astype(np.int32)
    here, there = first.get_column(column), second.get_column(column)
    firsts: dict[str, int] = {}
    for row, text in enumerate(there.get_texts()):
        firsts.setdefault(text, row)
    found = np.array([firsts.get(text, -1) if text else -1 for text in here.values], np.int32)
    return found[here.get_codes()]


def choose_match_column(
    first: LoadedEmbedding, second: LoadedEmbedding, requested: str | None
) -> str | None:
    """The column that is wanted. If that is left open, none where both have as many rows, else
    the first that both have."""
    if requested != AUTO_COLUMN or first.row_count == second.row_count:
        return requested or None
    names = {column.name for column in second.columns}
    return next((column.name for column in first.columns if column.name in names), None)
