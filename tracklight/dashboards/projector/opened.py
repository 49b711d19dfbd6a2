"""An embedding that is looked at: its vectors, its labels and its pictures."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import BinaryIO

import numpy as np

from tracklight.embeddings.columns import Column, make_column
from tracklight.embeddings.metadata import read_metadata
from tracklight.embeddings.model import Version
from tracklight.embeddings.sprite import Sprite, read_sprite
from tracklight.embeddings.vectors import Vectors, read_vectors
from tracklight.errors import TracklightError, UsageError
from tracklight.tensorfiles.place import Place
from tracklight.types import Float32, Int32


@dataclass(frozen=True, eq=False)
class Opened:
    """Vectors and what is known of each; problems are sentences on what does not fit."""

    vectors: Vectors
    columns: Sequence[Column] = ()
    sprite: Sprite | None = None
    open_sprite: Callable[[], BinaryIO] = io.BytesIO
    problems: Sequence[str] = ()
    revision: int = 0
    """Grows with every edit of labels."""

    @property
    def rows(self) -> int:
        return len(self.vectors.values)

    @property
    def size_bytes(self) -> int:
        return int(self.vectors.values.nbytes) + 50 * self.rows * len(self.columns)

    def get_column(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise UsageError(f'there is no column "{name}" among the labels')

    def choose(self, bits: bytes | None) -> Int32 | None:
        """The rows of which a bit is set and whose vectors are usable; None for all."""
        usable = self.vectors.usable
        if bits is None:
            return None if usable.all() else np.flatnonzero(usable).astype(np.int32)
        return np.flatnonzero(read_bits(bits, self.rows) & usable).astype(np.int32)

    def take(self, rows: Int32 | None, spherize: bool = False) -> Float32:
        """Vectors of some rows; spherized they are around their middle and of length 1."""
        vectors = self.vectors.values if rows is None else self.vectors.values[rows]
        return _spherize(vectors) if spherize else vectors


def open_version(place: Place, version: Version) -> Opened:
    """Read an embedding; only vectors that cannot be read are an error."""
    vectors = read_vectors(place, version)
    opened = with_vectors(vectors)
    if version.metadata_path:
        opened = with_labels(opened, lambda: place.open(version.metadata_path))
    if version.sprite_path:
        size = version.sprite_size
        opened = with_sprite(opened, lambda: place.open(version.sprite_path), size)
    return opened


def with_vectors(vectors: Vectors) -> Opened:
    columns = [make_column(name, cells) for name, cells in vectors.labels.items()]
    return Opened(vectors, columns, problems=vectors.problems)


def with_labels(opened: Opened, open_file: Callable[[], BinaryIO]) -> Opened:
    """With the labels of a file; where they cannot be read, a sentence instead."""
    try:
        with open_file() as file:
            metadata = read_metadata(file, opened.rows)
    except (TracklightError, OSError) as error:
        return _complain(opened, f"there are no labels: {error}")
    columns = [make_column(name, cells) for name, cells in metadata.columns.items()]
    return replace(opened, columns=columns, problems=[*opened.problems, *metadata.problems])


def with_sprite(
    opened: Opened, open_file: Callable[[], BinaryIO], size: Sequence[int] = ()
) -> Opened:
    """With the pictures of a file; where they cannot be read, a sentence instead."""
    try:
        with open_file() as file:
            sprite = read_sprite(file, size, opened.rows)
    except (TracklightError, OSError) as error:
        return _complain(opened, f"there are no pictures: {error}")
    return replace(opened, sprite=sprite, open_sprite=open_file)


def _complain(opened: Opened, problem: str) -> Opened:
    return replace(opened, problems=[*opened.problems, problem])


def read_bits(bits: bytes, count: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
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
