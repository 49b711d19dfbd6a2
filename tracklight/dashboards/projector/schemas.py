"""What can be asked about embeddings."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.embeddings.loading import AUTO_COLUMN
from tracklight.analysis.embeddings.projections.gpu import Device
from tracklight.analysis.embeddings.projections.neighbors import DistanceMetric
from tracklight.analysis.embeddings.projector_files import Bookmark
from tracklight.analysis.embeddings.sprites import SpriteTiles
from tracklight.analysis.jobs import JobState
from tracklight.types import Bool, Float32, Int32

NonNegativeInt = Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]

Seed = Annotated[int, msgspec.Meta(ge=0, le=1 << 31)]

Fraction = Annotated[float, msgspec.Meta(ge=0, le=1)]

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]

Query = Annotated[str, msgspec.Meta(max_length=10_000)]

Axes = Annotated[
    list[Annotated[int, msgspec.Meta(ge=0, le=99)]], msgspec.Meta(min_length=1, max_length=10)
]

Key = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]

#: A bit for each row, the first the lowest of the first byte; in JSON as base64.
RowBits = bytes


class EmbeddingRequest(msgspec.Struct, forbid_unknown_fields=True):
    """An embedding at one of its steps, by default the last; ``mark`` as it was listed."""

    id: Key
    index: NonNegativeInt | None = None
    mark: str | None = None


class ColumnRequest(EmbeddingRequest, kw_only=True):
    """A column of labels; ``revision`` tells apart what was edited."""

    name: Name
    revision: NonNegativeInt = 0


class SpriteTileRequest(EmbeddingRequest):
    """A part of the pictures."""

    tile: NonNegativeInt = 0


class PointRequest(EmbeddingRequest):
    """One point."""

    row: NonNegativeInt = 0


class PcaMethod(msgspec.Struct, tag="pca", frozen=True, forbid_unknown_fields=True):
    """Along the directions in which vectors differ most."""

    components: Annotated[int, msgspec.Meta(ge=1, le=100)] = 10


class TsneMethod(msgspec.Struct, tag="tsne", frozen=True, forbid_unknown_fields=True):
    """Neighbours stay neighbours; ``supervise`` names a column whose likes pull together."""

    dimensions: Literal[2, 3] = 2
    perplexity: float = 30.0
    iterations: int = 750
    learning_rate: float | None = None
    early_exaggeration: float = 12.0
    metric: DistanceMetric = "euclidean"
    supervise: str | None = None
    pull: Fraction = 0.0


class UmapMethod(msgspec.Struct, tag="umap", frozen=True, forbid_unknown_fields=True):
    """The graph of neighbours, laid out."""

    dimensions: Literal[2, 3] = 2
    neighbours: int = 15
    min_dist: float = 0.1
    metric: DistanceMetric = "euclidean"
    epochs: int | None = None
    supervise: str | None = None
    pull: Fraction = 0.0


class AxisEnd(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where an axis begins or ends: the mean of these rows, or of those that a search finds."""

    query: Query = ""
    regex: bool = False
    column: str | None = None
    rows: RowBits | None = None


class CustomAxis(
    msgspec.Struct, rename={"start": "from", "end": "to"}, frozen=True, forbid_unknown_fields=True
):
    """A direction from one mean to another."""

    start: AxisEnd
    end: AxisEnd


class CustomAxesMethod(msgspec.Struct, tag="custom", frozen=True, forbid_unknown_fields=True):
    """Along axes that somebody chose."""

    axes: Annotated[list[CustomAxis], msgspec.Meta(min_length=1, max_length=3)]


ProjectionMethod = PcaMethod | TsneMethod | UmapMethod | CustomAxesMethod


class ProjectionRequest(EmbeddingRequest):
    """A layout of all points, or of some.

    With ``align``, the job of another layout, it starts from that one where the method can, and
    is turned onto it, so that steps and runs can be compared; ``align_by`` is the column that says
    which points are the same, as in a match.
    """

    method: ProjectionMethod = PcaMethod()
    rows: RowBits | None = None
    spherize: bool = False
    seed: Seed = 0
    device: Literal["auto", "cpu"] = "auto"
    align: Key | None = None
    align_by: str | None = AUTO_COLUMN


class JobRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Something that was started before."""

    job: Key


class LayoutRequest(JobRequest):
    """Places along some axes, unless ``seen`` is the frame that is still shown."""

    seen: int = 0
    axes: Axes = msgspec.field(default_factory=lambda: [0, 1, 2])


class QualityRequest(JobRequest):
    """How far the layout along some axes can be trusted."""

    axes: Axes = msgspec.field(default_factory=lambda: [0, 1])


class NeighborsRequest(EmbeddingRequest):
    """The nearest of one point, or of the mean of some; ``within`` says among which."""

    row: NonNegativeInt | None = None
    rows: RowBits | None = None
    metric: DistanceMetric = "cosine"
    count: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 100
    spherize: bool = False
    within: RowBits | None = None


class SearchRequest(EmbeddingRequest):
    """Rows in which a column, or any, holds a text, or with ``regex`` matches an expression."""

    query: Query = ""
    regex: bool = False
    column: str | None = None


class MatchRequest(EmbeddingRequest, kw_only=True):
    """Which rows of two embeddings are the same: by a column of both, or with null by their number;
    an empty one stands for what suits."""

    other: EmbeddingRequest
    column: str | None = AUTO_COLUMN


class KmeansMethod(msgspec.Struct, tag="kmeans", frozen=True, forbid_unknown_fields=True):
    count: Annotated[int, msgspec.Meta(ge=2, le=1000)] = 10


class HdbscanMethod(msgspec.Struct, tag="hdbscan", frozen=True, forbid_unknown_fields=True):
    min_size: Annotated[int, msgspec.Meta(ge=2, le=100_000)] = 15


class ClusterRequest(EmbeddingRequest):
    """Groups of points, by their vectors or by the places of a layout, named by words."""

    method: KmeansMethod | HdbscanMethod = KmeansMethod()
    rows: RowBits | None = None
    on: Key | None = None
    spherize: bool = False
    seed: Seed = 0
    words: str | None = None


class EditRequest(EmbeddingRequest, kw_only=True):
    """A new label for some points, in a column that may be a new one."""

    rows: RowBits
    column: Name
    text: Annotated[str, msgspec.Meta(max_length=10_000)]


class BookmarkRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A view under a name; without ``state`` it is forgotten."""

    id: Key
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    state: Annotated[str, msgspec.Meta(max_length=200_000)] | None = None


class UploadRequest(msgspec.Struct):
    """A file; of labels or pictures it is said which embedding they are of."""

    name: Name
    body: bytes
    labels_of: str | None = None
    sprite_of: str | None = None


class EmbeddingFileRequest(EmbeddingRequest, kw_only=True):
    """Something to take away."""

    what: Literal["labels", "vectors", "layout"]
    format: Literal["tsv", "npy"] = "tsv"
    job: Key | None = None


# What is answered about embeddings.

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


class EmbeddingsResponse(msgspec.Struct):
    """All of them, those with labels first, and what layouts can be computed on."""

    cursor: str
    embeddings: list[EmbeddingRow]
    devices: list[Device]


class LabelCount(msgspec.Struct):
    """A label that several points share."""

    text: str
    count: int


class ColumnInfo(msgspec.Struct):
    """A column of labels; ``values`` are the most frequent, none where every row differs."""

    name: str
    kind: Literal["text", "number"]
    distinct: int
    missing: int
    min: float | None
    max: float | None
    values: list[LabelCount]


class EmbeddingInfo(msgspec.Struct):
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
    columns: list[ColumnInfo]
    label: str | None
    colour: str | None
    sequence: str | None
    sprite: SpriteTiles | None
    spherize: bool


class ColumnResponse(msgspec.Struct):
    """A column: its values one after another, and which of them each row has.

    Without ``codes`` the values are those of the rows.
    """

    name: str
    kind: Literal["text", "number"]
    numbers: Float32 | None
    codes: Int32 | None
    text: Utf8
    ends: Int32


class LabelCell(msgspec.Struct):
    name: str
    text: str


class PointResponse(msgspec.Struct):
    """All that is known of a point; ``length`` is that of its vector."""

    row: int
    cells: list[LabelCell]
    vector: Float32
    length: float


class JobStatus(msgspec.Struct):
    """How far something has come; ``frame`` grows with every layout that it shows."""

    job: str
    state: JobState
    doing: str
    done: int
    total: int
    problem: str
    frame: int
    device: Device


class LayoutResponse(msgspec.Struct):
    """Places of ``rows``, or of all of them, a column for each axis; none for what was seen."""

    job: JobStatus
    rows: Int32 | None
    places: list[Float32]
    explained: list[float]
    exact: bool
    notes: list[str]


class QualityResponse(msgspec.Struct):
    """How far a layout can be trusted, from 0 to 1, measured on a sample of its points."""

    trust: float
    of: int
    sample: int
    neighbours: int
    sentence: str


class NeighborsResponse(msgspec.Struct):
    """Rows and how far they are, nearest first."""

    rows: Int32
    distances: Float32
    exact: bool


class SearchResponse(msgspec.Struct):
    count: int
    rows: Int32


class MatchResponse(msgspec.Struct):
    """For each row the one of the other embedding, -1 for none."""

    rows: Int32
    matched: int


class ClusterInfo(msgspec.Struct):
    """A group of points and the words that set it apart."""

    name: str
    count: int
    words: list[str]


class ClustersResponse(msgspec.Struct):
    """For each row its group, -1 for none."""

    job: JobStatus
    codes: Int32
    clusters: list[ClusterInfo]


class EditResponse(msgspec.Struct):
    revision: int
    changed: int


class SavedView(msgspec.Struct):
    """A view that was kept here."""

    name: str
    state: str


class BookmarksResponse(msgspec.Struct):
    """Views as TensorBoard saved them beside the vectors, and those that were kept here."""

    bookmarks: list[Bookmark]
    saved: list[SavedView]
