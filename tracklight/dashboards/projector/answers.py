"""What is answered about embeddings."""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.embeddings.bookmarks import Bookmark
from tracklight.projections.devices import Device
from tracklight.projections.jobs import State
from tracklight.types import Bool, Float32, Int32

Utf8 = NDArray[np.uint8]


class VersionRow(msgspec.Struct):
    """An embedding at one step; sizes are 0 where only opening it can tell."""

    index: int
    step: int | None
    mark: str
    rows: int
    dimensions: int


class EmbeddingRow(msgspec.Struct):
    """An embedding as it is offered; ``problem`` says why it cannot be opened."""

    id: str
    run: str
    name: str
    source: Literal["log", "upload"]
    file: str
    has_labels: bool
    has_sprite: bool
    has_bookmarks: bool
    problem: str
    versions: list[VersionRow]


class EmbeddingsAnswer(msgspec.Struct):
    """All of them, those with labels first, and what layouts can be computed on."""

    cursor: str
    embeddings: list[EmbeddingRow]
    devices: list[Device]


class ValueRow(msgspec.Struct):
    """A label that several points share."""

    text: str
    count: int


class ColumnRow(msgspec.Struct):
    """A column of labels; ``values`` are the most frequent, none where every row differs."""

    name: str
    kind: Literal["text", "number"]
    distinct: int
    missing: int
    min: float | None
    max: float | None
    values: list[ValueRow]


class SpriteRow(msgspec.Struct):
    """How pictures are laid out on tiles, each of which holds ``per_tile`` of them by rows."""

    cell_width: int
    cell_height: int
    tiles: int
    tile_columns: int
    tile_rows: int
    per_tile: int


class About(msgspec.Struct):
    """An opened embedding; ``label``, ``colour`` and ``spherize`` are what to begin with."""

    id: str
    index: int
    step: int | None
    mark: str
    rows: int
    dimensions: int
    revision: int
    problems: list[str]
    usable: Bool | None
    columns: list[ColumnRow]
    label: str | None
    colour: str | None
    sequence: str | None
    sprite: SpriteRow | None
    spherize: bool


class ColumnAnswer(msgspec.Struct):
    """A column: its values one after another, and which of them each row has.

    Without ``codes`` the values are those of the rows.
    """

    name: str
    kind: Literal["text", "number"]
    numbers: Float32 | None
    codes: Int32 | None
    text: Utf8
    ends: Int32


class Cell(msgspec.Struct):
    name: str
    text: str


class PointAnswer(msgspec.Struct):
    """All that is known of a point; ``length`` is that of its vector."""

    row: int
    cells: list[Cell]
    vector: Float32
    length: float


class JobRow(msgspec.Struct):
    """How far something has come; ``frame`` grows with every layout that it shows."""

    job: str
    state: State
    doing: str
    done: int
    total: int
    problem: str
    frame: int
    device: Device


class LayoutAnswer(msgspec.Struct):
    """Places of ``rows``, or of all of them, a column for each axis; none for what was seen."""

    job: JobRow
    rows: Int32 | None
    places: list[Float32]
    explained: list[float]
    exact: bool
    notes: list[str]


class QualityAnswer(msgspec.Struct):
    """How far a layout can be trusted, from 0 to 1, measured on a sample of its points."""

    trust: float
    of: int
    sample: int
    neighbours: int
    sentence: str


class NeighboursAnswer(msgspec.Struct):
    """Rows and how far they are, nearest first."""

    rows: Int32
    distances: Float32
    exact: bool


class SearchAnswer(msgspec.Struct):
    count: int
    rows: Int32


class MatchAnswer(msgspec.Struct):
    """For each row the one of the other embedding, -1 for none."""

    rows: Int32
    matched: int


class ClusterRow(msgspec.Struct):
    """A group of points and the words that set it apart."""

    name: str
    count: int
    words: list[str]


class ClustersAnswer(msgspec.Struct):
    """For each row its group, -1 for none."""

    job: JobRow
    codes: Int32
    clusters: list[ClusterRow]


class EditAnswer(msgspec.Struct):
    revision: int
    changed: int


class SavedView(msgspec.Struct):
    """A view that was kept here."""

    name: str
    state: str


class BookmarksAnswer(msgspec.Struct):
    """Views as TensorBoard saved them beside the vectors, and those that were kept here."""

    bookmarks: list[Bookmark]
    saved: list[SavedView]
