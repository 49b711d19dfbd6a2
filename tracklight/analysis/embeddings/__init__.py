"""Embeddings of a log: find them, read their vectors and labels, search and project them.

This module reads one embedding: `load_embedding` reads a version of it into a `LoadedEmbedding`,
which everything else works on. Only vectors are required; labels or sprites that cannot be read
become messages in `LoadedEmbedding.problems`.

- `discovery` finds embeddings: in projector configs, which it parses with the bookmarks of
  TensorBoard, in checkpoints and in other tensor files.
- `metadata` parses and searches labels, `sprites` works on images.
- `density` makes tiles of layouts of many points, and finds their dense regions.
- `projections` computes neighbors, PCA, t-SNE, UMAP and clusters of arrays.

Start with `discovery.discover_embeddings` and `load_embedding`. The package may import `formats`,
`logdir`, `index` and the rest of `analysis`; nothing here knows about HTTP.
"""

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
from tracklight.errors import (
    EmbeddingSizeError,
    FormatError,
    Message,
    TracklightError,
    UsageError,
)
from tracklight.formats.checkpoints import TsvFile, open_tensor_file, read_raw_vectors
from tracklight.formats.checkpoints.tensor_file import LabelColumns, TensorFile, get_file_size
from tracklight.formats.checkpoints.tf_checkpoint import TensorFlowCheckpoint
from tracklight.logdir.access import ConfinedFiles
from tracklight.types import Bool, Float32, Int32

#: A TensorFlow checkpoint (by its prefix), another tensor file, or tab-separated or raw numbers.
StorageKind = Literal["checkpoint", "file", "plain"]

#: As the name of a column: choose the column by which rows of two embeddings are matched.
AUTO_COLUMN = ""


@dataclass(frozen=True, slots=True)
class EmbeddingVersion:
    """An embedding at one training step. Paths are absolute."""

    step: int | None
    kind: StorageKind
    path: str
    key: str = ""
    """Key of the tensor in the file; empty if the file holds only one."""
    shape: tuple[int, ...] = ()
    """Empty if it is not known before the vectors are read."""
    metadata_path: str = ""
    sprite_path: str = ""
    sprite_size: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Embedding:
    """A named embedding of a run, with one version per step."""

    run: str
    name: str
    versions: tuple[EmbeddingVersion, ...] = ()
    """In the order of their steps; empty if there is a problem."""
    bookmarks_path: str = ""
    problem: Message | None = None
    """Why the embedding cannot be read."""


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """The vectors of an embedding, as rows of float32."""

    values: Float32
    usable: Bool
    """For each row, whether all of its values are finite."""
    problems: tuple[Message, ...] = ()
    labels: LabelColumns = field(default_factory=dict)
    """Label columns of the same file."""


@dataclass(frozen=True, slots=True)
class SpriteSheet:
    """The layout of a sprite image: one cell per point, row by row. Sizes are in pixels."""

    width: int
    height: int
    cell_width: int
    cell_height: int
    columns: int


@dataclass(frozen=True, eq=False)
class LoadedEmbedding:
    """The vectors of an embedding with the labels and sprites of its points."""

    vectors: Vectors
    columns: Sequence[LabelColumn] = ()
    sprite: SpriteSheet | None = None
    open_sprite: Callable[[], BinaryIO] = io.BytesIO
    problems: Sequence[Message] = ()
    """Messages about labels and sprites that do not fit."""
    revision: int = 0
    """Increases with every edit of labels."""

    @property
    def row_count(self) -> int:
        return len(self.vectors.values)

    @property
    def size_bytes(self) -> int:
        """Approximate memory use."""
        return int(self.vectors.values.nbytes) + 50 * self.row_count * len(self.columns)

    def get_column(self, name: str) -> LabelColumn:
        """Return a label column.

        Raises:
            UsageError: There is no column with this name.
        """
        for column in self.columns:
            if column.name == name:
                return column
        raise UsageError(
            "embeddings.no_label_column", 'the labels have no column "{name}"', name=name
        )

    def select_rows(self, bits: bytes | None) -> Int32 | None:
        """Return the rows with a set bit and a finite vector; None for all rows."""
        usable = self.vectors.usable
        if bits is None:
            return None if usable.all() else np.flatnonzero(usable).astype(np.int32)
        return np.flatnonzero(decode_row_bits(bits, self.row_count) & usable).astype(np.int32)

    def get_vectors(self, rows: Int32 | None, spherize: bool = False) -> Float32:
        """Return the vectors of some rows, or of all.

        With ``spherize``, vectors are centered and normalized to length 1, as in TensorBoard.
        """
        vectors = self.vectors.values if rows is None else self.vectors.values[rows]
        return _spherize(vectors) if spherize else vectors


def load_embedding(files: ConfinedFiles, version: EmbeddingVersion) -> LoadedEmbedding:
    """Read an embedding with its labels and sprites.

    Raises:
        FormatError: The vectors cannot be read.
    """
    embedding = from_vectors(read_vectors(files, version))
    if version.metadata_path:
        embedding = with_labels(embedding, lambda: files.open(version.metadata_path))
    if version.sprite_path:
        size = version.sprite_size
        embedding = with_sprite(embedding, lambda: files.open(version.sprite_path), size)
    return embedding


def from_vectors(vectors: Vectors) -> LoadedEmbedding:
    """Return an embedding with the labels that are stored beside the vectors."""
    columns = [make_label_column(name, cells) for name, cells in vectors.labels.items()]
    return LoadedEmbedding(vectors, columns, problems=vectors.problems)


def with_labels(embedding: LoadedEmbedding, open_file: Callable[[], BinaryIO]) -> LoadedEmbedding:
    """Return the embedding with the labels of a file, or with a problem if they are unreadable."""
    try:
        with open_file() as file:
            metadata = read_metadata(file, embedding.row_count)
    except (TracklightError, OSError) as error:
        return _add_problem(
            embedding, Message.format("embeddings.no_labels", "no labels: {error}", error=error)
        )
    columns = [make_label_column(name, cells) for name, cells in metadata.columns.items()]
    return replace(embedding, columns=columns, problems=[*embedding.problems, *metadata.problems])


def with_sprite(
    embedding: LoadedEmbedding, open_file: Callable[[], BinaryIO], size: Sequence[int] = ()
) -> LoadedEmbedding:
    """Return the embedding with a sprite image, or with a problem if it is unreadable."""
    try:
        with open_file() as file:
            sprite = read_sprite_sheet(file, size, embedding.row_count)
    except (TracklightError, OSError) as error:
        return _add_problem(
            embedding, Message.format("embeddings.no_sprite", "no images: {error}", error=error)
        )
    return replace(embedding, sprite=sprite, open_sprite=open_file)


def _add_problem(embedding: LoadedEmbedding, problem: Message) -> LoadedEmbedding:
    return replace(embedding, problems=[*embedding.problems, problem])


def _spherize(vectors: Float32) -> Float32:
    mean = vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
    centered: Float32 = vectors - mean
    norms = np.sqrt(np.einsum("ij,ij->i", centered, centered, dtype=np.float64))
    centered /= np.where(norms, norms, 1).astype(np.float32)[:, None]
    return centered


# ---- vectors


def read_vectors(files: ConfinedFiles, version: EmbeddingVersion) -> Vectors:
    """Read the vectors of an embedding at one step.

    Raises:
        FormatError: The file cannot be read, or its tensor cannot be used as vectors.
    """
    name = posixpath.basename(version.path)
    if version.kind == "plain":
        with files.open(version.path) as file:
            labels, array = _read_plain(file, name, version.shape)
            return replace(make_vectors(array, name), labels=labels)
    with open_tensors(files, version.kind, version.path) as tensors:
        return read_tensor_vectors(tensors, version.key or tensors.list_tensors()[0].key)


def read_tensor_vectors(tensors: TensorFile, key: str) -> Vectors:
    """Read a tensor of a file, with the labels that are stored beside it."""
    labels = getattr(tensors, "labels", {})
    return replace(make_vectors(tensors.read(key), key), labels=labels)


@contextlib.contextmanager
def open_tensors(files: ConfinedFiles, kind: StorageKind, path: str) -> Iterator[TensorFile]:
    """Open a checkpoint or another tensor file."""
    if kind == "checkpoint":
        yield TensorFlowCheckpoint(files, path)
        return
    with files.open(path) as file:
        yield open_tensor_file(file, posixpath.basename(path))


def _read_plain(
    file: BinaryIO, name: str, shape: tuple[int, ...]
) -> tuple[LabelColumns, NDArray[Any]]:
    """Read tab-separated numbers or, if the file is not text, raw float32 values."""
    try:
        table = TsvFile(file, name)
        return table.labels, table.read(name)
    except FormatError as error:
        if shape and get_file_size(file) == 4 * math.prod(shape):
            return {}, read_raw_vectors(file, shape)
        raise FormatError(
            "files.unreadable", '"{name}" cannot be read: {error}', name=name, error=error
        ) from None


def make_vectors(array: NDArray[Any], name: str) -> Vectors:
    """Return the rows of an array as vectors; dimensions after the first are flattened.

    Args:
        array: Numbers of at least two dimensions.
        name: Name of the tensor, for error messages.

    Raises:
        FormatError: The array has the wrong type or shape, or no finite row.
    """
    if array.dtype.kind not in "biuf":
        raise FormatError(
            "embeddings.not_numeric",
            '"{name}" has the type {dtype}; vectors must be numbers',
            name=name,
            dtype=array.dtype,
        )
    if array.ndim < 2:
        raise FormatError(
            "embeddings.not_a_matrix",
            '"{name}" has the shape {shape}; vectors need two dimensions',
            name=name,
            shape=list(array.shape),
        )
    rows = array.shape[0]
    values = np.ascontiguousarray(array.reshape(rows, -1) if array.size else array, np.float32)
    if rows < 2:
        raise EmbeddingSizeError(
            "embeddings.too_few_vectors",
            'vectors in "{name}": {rows}; at least 2 are needed',
            name=name,
            rows=rows,
        )
    if values.ndim != 2 or values.shape[1] < 2:
        raise EmbeddingSizeError(
            "embeddings.too_short_vectors",
            '"{name}" has vectors of length {length}; at least 2 are needed',
            name=name,
            length=values.shape[1],
        )
    return _check_finite(values, name)


def _check_finite(values: Float32, name: str) -> Vectors:
    # The sum of a row finds NaN without a mask as large as the vectors; as it may also overflow,
    # only rows whose sum is not finite are checked value by value.
    with np.errstate(all="ignore"):
        usable: Bool = np.isfinite(values.sum(axis=1))
    usable[~usable] = np.isfinite(values[~usable]).all(axis=1)
    count = len(values) - int(np.count_nonzero(usable))
    if count == len(values):
        raise FormatError(
            "embeddings.all_non_finite",
            'every vector of "{name}" contains NaN or infinity',
            name=name,
        )
    if not count:
        return Vectors(values, usable)
    problem = Message.format(
        "embeddings.some_non_finite",
        "left out {count} of {rows} vectors with NaN or infinity",
        count=count,
        rows=len(values),
    )
    return Vectors(values, usable, (problem,))


# ---- sprites


def read_sprite_sheet(file: BinaryIO, size: Sequence[int], count: int) -> SpriteSheet:
    """Read the layout of a sprite image from its header.

    Args:
        file: The image.
        size: Width and height of one cell; if empty, the cells form a square grid.
        count: The number of points.

    Raises:
        FormatError: The file is not an image, or too small for so many cells.
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
            "embeddings.sprite_too_small",
            "the sprite image of {width} x {height} pixels has {cells} cells "
            "of {cell_width} x {cell_height}; {count} are needed",
            width=width,
            height=height,
            cells=columns * rows,
            cell_width=cell_width,
            cell_height=cell_height,
            count=count,
        )
    return SpriteSheet(width, height, cell_width, cell_height, columns)


def _read_image_size(file: BinaryIO) -> tuple[int, int]:
    from PIL import Image, UnidentifiedImageError

    file.seek(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(file) as image:
                width, height = image.size
                return width, height
    except UnidentifiedImageError:  # its message contains a memory address
        raise FormatError(
            "embeddings.sprite_unknown_format", "the sprite is not an image in a known format"
        ) from None
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise FormatError(
            "embeddings.sprite_unreadable", "the sprite image cannot be read: {error}", error=error
        ) from None


# ---- rows


def decode_row_bits(bits: bytes, count: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Decode a bit set with one bit per row, the lowest first; missing bits are not set.

    Raises:
        UsageError: There are more bytes than ``count`` rows need.
    """
    if len(bits) > (count + 7) // 8:
        raise UsageError(
            "embeddings.too_many_row_bits",
            "{size} bytes of row bits are too many for {count} points",
            size=len(bits),
            count=count,
        )
    mask = np.zeros(count, np.bool_)
    set_bits = np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little")[:count]
    mask[: len(set_bits)] = set_bits
    return mask


def match_rows(first: LoadedEmbedding, second: LoadedEmbedding, column: str | None) -> Int32:
    """Return for each row of one embedding the same point of another, -1 for none.

    Rows match if they have the same text in a column of both, of which the first counts; without
    a column, if they have the same number.
    """
    if column is None:
        rows = np.arange(first.row_count, dtype=np.int32)
        return np.where(rows < second.row_count, rows, -1).astype(np.int32)
    first_labels, second_labels = first.get_column(column), second.get_column(column)
    row_of: dict[str, int] = {}
    for row, text in enumerate(second_labels.get_texts()):
        row_of.setdefault(text, row)
    matches = np.array(
        [row_of.get(text, -1) if text else -1 for text in first_labels.values], np.int32
    )
    return matches[first_labels.get_codes()]


def choose_match_column(
    first: LoadedEmbedding, second: LoadedEmbedding, requested: str | None
) -> str | None:
    """Return the column to match rows by: the requested one, or for `AUTO_COLUMN` a guess.

    The guess is a column that names points: its texts are distinct in both, and half of them are in
    both. Without one, it is None (by row number) if both have the same number of rows, else the
    first common column.
    """
    if requested != AUTO_COLUMN:
        return requested or None
    names = {column.name for column in second.columns}
    common = [column.name for column in first.columns if column.name in names]
    for name in common:
        pair = first.get_column(name), second.get_column(name)
        if _is_shared_key(*pair):
            has_same_order = list(pair[0].values) == list(pair[1].values)
            return None if has_same_order else name
    return None if first.row_count == second.row_count else next(iter(common), None)


def _is_shared_key(first: LabelColumn, second: LabelColumn) -> bool:
    """Return whether the texts of both are distinct, and half of those of the shorter in both."""
    keys = (first, second)
    if any(key.codes is not None or key.distinct_count < len(key.values) for key in keys):
        return False
    shared = {*first.values} & {*second.values}
    return 2 * len(shared) >= min(len(key.values) for key in keys)
