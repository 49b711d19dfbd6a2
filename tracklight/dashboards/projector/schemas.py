"""Requests and responses of the Projector dashboard."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.embeddings import AUTO_COLUMN
from tracklight.analysis.embeddings.discovery import Bookmark
from tracklight.analysis.embeddings.projections import DistanceMetric
from tracklight.analysis.embeddings.projections.gpu import Device
from tracklight.analysis.embeddings.sprites import SpriteTiles
from tracklight.analysis.jobs import JobState
from tracklight.analysis.source import Sentence
from tracklight.types import Bool, Float32, Int32

NonNegativeInt = Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]
Seed = Annotated[int, msgspec.Meta(ge=0, le=1 << 31)]
Fraction = Annotated[float, msgspec.Meta(ge=0, le=1)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]
Query = Annotated[str, msgspec.Meta(max_length=10_000)]
Key = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
Axes = Annotated[
    list[Annotated[int, msgspec.Meta(ge=0, le=99)]], msgspec.Meta(min_length=1, max_length=10)
]

AxisIndex = Annotated[int, msgspec.Meta(ge=0, le=99)]
PlaneAxes = Annotated[list[AxisIndex], msgspec.Meta(min_length=2, max_length=2)]
RegionAxes = Annotated[list[AxisIndex], msgspec.Meta(min_length=2, max_length=3)]

#: A bit set with one bit per row, the lowest bit first; base64 in JSON.
RowBits = Annotated[bytes, msgspec.Meta(title="bit set of rows, base64")]
Utf8 = NDArray[np.uint8]
UInt8 = NDArray[np.uint8]


# ---- requests


class EmbeddingRequest(msgspec.Struct, forbid_unknown_fields=True):
    """An embedding at one of its steps, by default the last.

    ``mark`` is the fingerprint of the files in the list of embeddings.
    """

    id: Key
    index: NonNegativeInt | None = None
    mark: str | None = None


class ColumnRequest(EmbeddingRequest, kw_only=True):
    """A column of labels. ``revision`` keeps caches from returning labels before an edit."""

    name: Name
    revision: NonNegativeInt = 0


class SpriteTileRequest(EmbeddingRequest):
    """One tile of the images."""

    tile: NonNegativeInt = 0


class PointRequest(EmbeddingRequest):
    """One point."""

    row: NonNegativeInt = 0


class PcaMethod(msgspec.Struct, tag="pca", frozen=True, forbid_unknown_fields=True):
    """Principal component analysis."""

    components: Annotated[int, msgspec.Meta(ge=1, le=100)] = 10


class TsneMethod(msgspec.Struct, tag="tsne", frozen=True, forbid_unknown_fields=True):
    """t-SNE. Neighbors with another label in ``supervise_column`` weigh less."""

    dimensions: Literal[2, 3] = 2
    perplexity: float = 30.0
    iterations: int = 750
    learning_rate: float | None = None
    early_exaggeration: float = 12.0
    metric: DistanceMetric = "euclidean"
    supervise_column: str | None = None
    supervise_factor: Fraction = 0.0


class UmapMethod(msgspec.Struct, tag="umap", frozen=True, forbid_unknown_fields=True):
    """UMAP, supervised as in t-SNE."""

    dimensions: Literal[2, 3] = 2
    n_neighbors: int = 15
    min_dist: float = 0.1
    metric: DistanceMetric = "euclidean"
    epochs: int | None = None
    supervise_column: str | None = None
    supervise_factor: Fraction = 0.0


class AxisEnd(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One end of a custom axis: the mean of the given rows, or of the rows that a search finds."""

    query: Query = ""
    regex: bool = False
    column: str | None = None
    rows: RowBits | None = None


class CustomAxis(
    msgspec.Struct, rename={"start": "from", "end": "to"}, frozen=True, forbid_unknown_fields=True
):
    """The direction from one mean to another."""

    start: AxisEnd
    end: AxisEnd


class CustomAxesMethod(msgspec.Struct, tag="custom", frozen=True, forbid_unknown_fields=True):
    """A projection onto custom axes."""

    axes: Annotated[list[CustomAxis], msgspec.Meta(min_length=1, max_length=3)]


ProjectionMethod = PcaMethod | TsneMethod | UmapMethod | CustomAxesMethod


class ProjectionRequest(EmbeddingRequest):
    """A layout of all points, or of some rows.

    ``align_to`` is the job of another layout to compare with. If the method is iterative, the new
    layout starts from that one; in any case it is rotated onto it. ``align_by`` is the column that
    identifies points, as in a match.
    """

    method: ProjectionMethod = PcaMethod()
    rows: RowBits | None = None
    spherize: bool = False
    seed: Seed = 0
    device: Literal["auto", "cpu"] = "auto"
    align_to: Key | None = None
    align_by: str | None = AUTO_COLUMN


class JobRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A job that was started before."""

    job: Key


class LayoutRequest(JobRequest):
    """The coordinates along some axes, unless ``known_frame`` is the current frame of the job.

    A client that draws tiles needs no ``coordinates``.
    """

    known_frame: int = 0
    coordinates: bool = True
    axes: Axes = msgspec.field(default_factory=lambda: [0, 1, 2])


class QualityRequest(JobRequest):
    """The trustworthiness of a layout along some axes."""

    axes: Axes = msgspec.field(default_factory=lambda: [0, 1])


class LayoutPlaneRequest(JobRequest):
    """A layout along two axes."""

    axes: PlaneAxes = msgspec.field(default_factory=lambda: [0, 1])


class ColumnFilter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Points with a number in ``range``, with both ends, or with one of the texts ``values``."""

    range: tuple[float, float] | None = None
    values: Annotated[list[str], msgspec.Meta(max_length=1000)] | None = None


ColumnFilters = dict[str, ColumnFilter]
#: Filters as JSON, for requests whose fields are parameters of a URL.
FiltersText = Annotated[str, msgspec.Meta(max_length=100_000)]


class TileRequest(LayoutPlaneRequest, kw_only=True):
    """A tile of the density of a layout; at ``zoom`` 0, one tile has all points.

    ``color`` is a column whose most frequent values color the points. ``filters`` are those of a
    `ColumnHistogramsRequest` as JSON: other points are left out. ``revision`` keeps caches from
    returning colors before an edit.
    """

    zoom: Annotated[int, msgspec.Meta(ge=0, le=20)]
    x: NonNegativeInt
    y: NonNegativeInt
    color: Name | None = None
    filters: FiltersText = ""
    revision: NonNegativeInt = 0


class NearestRequest(LayoutPlaneRequest, kw_only=True):
    """The point of a layout that is nearest to a position, at most ``radius`` away.

    ``filters`` are those of a `ColumnHistogramsRequest` as JSON: other points are left out.
    """

    x: float
    y: float
    radius: Annotated[float, msgspec.Meta(gt=0)]
    filters: FiltersText = ""
    revision: NonNegativeInt = 0


class OutlineRequest(LayoutPlaneRequest, kw_only=True):
    """The points of a layout inside a polygon, given as ``x, y`` of each corner.

    Points that do not pass the ``filters`` are left out.
    """

    outline: Annotated[list[float], msgspec.Meta(min_length=6, max_length=20_000)]
    filters: Annotated[ColumnFilters, msgspec.Meta(max_length=100)] = {}


class PositionsRequest(LayoutPlaneRequest, kw_only=True):
    """The positions of some rows, of a sample of them if they are more than ``limit``.

    Rows that do not pass the ``filters`` are left out.
    """

    rows: RowBits
    limit: Annotated[int, msgspec.Meta(ge=1, le=200_000)] = 20_000
    filters: Annotated[ColumnFilters, msgspec.Meta(max_length=100)] = {}
    revision: NonNegativeInt = 0


class RegionsRequest(JobRequest):
    """The dense regions of a layout along some axes, named by words of the labels."""

    axes: RegionAxes = msgspec.field(default_factory=lambda: [0, 1])
    revision: NonNegativeInt = 0


class NeighborsRequest(EmbeddingRequest):
    """The nearest points of a row, or of the mean of some rows, among the rows ``within``."""

    row: NonNegativeInt | None = None
    rows: RowBits | None = None
    metric: DistanceMetric = "cosine"
    count: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 100
    spherize: bool = False
    within: RowBits | None = None


class SimilarRequest(EmbeddingRequest, kw_only=True):
    """The points nearest to a text or an image, whose vector is in the embedding ``source``.

    ``source`` has as many dimensions, for example the texts of a model of texts and images. The
    vector of a text is that of the point with this label, or the mean of the points with its words
    as labels, or of those whose labels contain it. That of an image is the vector of the point
    with the most similar image.
    """

    source: EmbeddingRequest
    text: Query = ""
    image: (
        Annotated[bytes, msgspec.Meta(max_length=16 << 20, title="image file, base64")] | None
    ) = None
    metric: DistanceMetric = "cosine"
    count: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 20
    within: RowBits | None = None


class SearchRequest(EmbeddingRequest):
    """The rows whose labels contain a text or match a regular expression, in one column or any."""

    query: Query = ""
    regex: bool = False
    column: str | None = None


class PointRowsRequest(EmbeddingRequest):
    """The labels of at most ``limit`` points from ``offset`` on, of all or of those ``within``.

    Points that do not pass the ``filters`` are left out. Points are sorted by the column ``sort``,
    by row number if it is null.
    """

    columns: Annotated[list[Name], msgspec.Meta(max_length=100)] = []
    within: RowBits | None = None
    filters: Annotated[ColumnFilters, msgspec.Meta(max_length=100)] = {}
    revision: NonNegativeInt = 0
    sort: Name | None = None
    descending: bool = False
    offset: NonNegativeInt = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 200


class ColumnHistogramsRequest(EmbeddingRequest, kw_only=True):
    """Histograms of columns, each of the points that pass the filters of all other columns.

    The columns ``ranges`` are counted in ``bins`` of equal width between their lowest and highest
    number, the columns ``values`` by their most frequent values.
    """

    ranges: Annotated[list[Name], msgspec.Meta(max_length=100)] = []
    values: Annotated[list[Name], msgspec.Meta(max_length=100)] = []
    filters: Annotated[ColumnFilters, msgspec.Meta(max_length=100)] = {}
    bins: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 24
    revision: NonNegativeInt = 0


class MatchRequest(EmbeddingRequest, kw_only=True):
    """The rows of two embeddings that are the same point.

    Rows are matched by a column of both, by row number if ``column`` is null, or by what fits best
    if it is empty.
    """

    other: EmbeddingRequest
    column: str | None = AUTO_COLUMN


class KmeansMethod(msgspec.Struct, tag="kmeans", frozen=True, forbid_unknown_fields=True):
    """k-means with a given number of clusters."""

    count: Annotated[int, msgspec.Meta(ge=2, le=1000)] = 10


class HdbscanMethod(msgspec.Struct, tag="hdbscan", frozen=True, forbid_unknown_fields=True):
    """HDBSCAN; ``min_size`` is the smallest number of points of a cluster."""

    min_size: Annotated[int, msgspec.Meta(ge=2, le=100_000)] = 15


class ClusterRequest(EmbeddingRequest):
    """Clusters of points, by their vectors or by their positions in the layout of ``layout_job``.

    ``name_column`` is the column whose words name the clusters; all columns if null.
    """

    method: KmeansMethod | HdbscanMethod = KmeansMethod()
    rows: RowBits | None = None
    layout_job: Key | None = None
    spherize: bool = False
    seed: Seed = 0
    name_column: str | None = None


class EditRequest(EmbeddingRequest, kw_only=True):
    """A new label for some points, in an existing or a new column."""

    rows: RowBits
    column: Name
    text: Annotated[str, msgspec.Meta(max_length=10_000)]


class BookmarkRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A view to save under a name; it is deleted if ``state`` is null."""

    id: Key
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    state: Annotated[str, msgspec.Meta(max_length=200_000)] | None = None


class UploadRequest(msgspec.Struct):
    """An uploaded file: vectors, or labels or a sprite image for an earlier upload."""

    name: Name
    body: bytes
    labels_of: str | None = None
    sprite_of: str | None = None


class EmbeddingFileRequest(EmbeddingRequest, kw_only=True):
    """Labels, vectors or the layout of a job as a file."""

    content: Literal["labels", "vectors", "layout"]
    format: Literal["tsv", "npy"] = "tsv"
    job: Key | None = None


# ---- responses


class VersionRow(msgspec.Struct):
    """An embedding at one step; ``rows`` and ``dimensions`` are 0 if they are not known yet."""

    index: int
    step: int | None
    mark: str
    rows: int
    dimensions: int


class EmbeddingRow(msgspec.Struct):
    """An embedding in the list; ``problem`` says why it cannot be read, null if it can."""

    id: str
    run: str
    name: str
    source: Literal["log", "upload"]
    file: str
    has_labels: bool
    has_sprite: bool
    has_bookmarks: bool
    problem: Sentence | None
    versions: list[VersionRow]


class EmbeddingsResponse(msgspec.Struct):
    """All embeddings, those with labels first, and the devices that can compute layouts."""

    cursor: str
    embeddings: list[EmbeddingRow]
    devices: list[Device]


class LabelCount(msgspec.Struct):
    """A label and the number of points that have it."""

    text: str
    count: int


class ColumnInfo(msgspec.Struct):
    """A column of labels; ``values`` are the most frequent, empty if most are unique."""

    name: str
    kind: Literal["text", "number"]
    distinct: int
    missing: int
    min: float | None
    max: float | None
    values: list[LabelCount]


class EmbeddingInfo(msgspec.Struct):
    """A loaded embedding.

    ``usable`` marks the rows with finite vectors, null if all are. ``label_column``,
    ``color_column`` and ``sequence_column`` are suggested columns, ``spherize`` a suggested
    setting.
    """

    id: str
    index: int
    step: int | None
    mark: str
    rows: int
    dimensions: int
    revision: int
    problems: list[Sentence]
    usable: Bool | None
    columns: list[ColumnInfo]
    label_column: str | None
    color_column: str | None
    sequence_column: str | None
    sprite: SpriteTiles | None
    spherize: bool


class ColumnResponse(msgspec.Struct):
    """A column of labels.

    ``text`` has all values one after another, ``ends`` where each ends. ``codes`` is the value of
    each row; null if there is one value per row.
    """

    name: str
    kind: Literal["text", "number"]
    numbers: Float32 | None
    codes: Int32 | None
    text: Utf8
    ends: Int32


class LabelCell(msgspec.Struct):
    """A label of a point in one column."""

    name: str
    text: str


class PointRowsResponse(msgspec.Struct):
    """A page of points; ``cells`` has the texts of each requested column."""

    total: int
    rows: Int32
    cells: list[list[str]]


class ColumnHistogramsResponse(msgspec.Struct):
    """The number of points that pass all filters, and the counts of each column.

    Values are counted in the order in which the description of the embedding lists them.
    """

    passing: int
    counts: dict[str, list[int]]


class PointResponse(msgspec.Struct):
    """The labels and the vector of a point; ``length`` is the norm of the vector."""

    row: int
    cells: list[LabelCell]
    vector: Float32
    length: float


class JobStatus(msgspec.Struct):
    """The state of a job; ``frame`` increases with every intermediate result.

    ``stage`` names the current stage, ``problem`` says why the job failed.
    """

    job: str
    state: JobState
    stage: Sentence
    done: int
    total: int
    problem: Sentence | None
    frame: int
    device: Device


class LayoutResponse(msgspec.Struct):
    """The coordinates of ``rows``, or of all rows, by axis; empty if the client has this frame."""

    job: JobStatus
    rows: Int32 | None
    coordinates: list[Float32]
    explained_ratio: list[float]
    is_exact: bool
    notes: list[Sentence]


class QualityResponse(msgspec.Struct):
    """The trustworthiness of a layout, from 0 to 1, on a sample of its points.

    ``explanation`` says what it means for this layout.
    """

    trustworthiness: float
    point_count: int
    sample_size: int
    n_neighbors: int
    explanation: list[Sentence]


class DensityResponse(msgspec.Struct):
    """The bounds of a layout: most of its points are within ``radius`` of the center.

    The tile at zoom 0 is the square around the center whose half side is ``extent``.
    """

    center: list[float]
    radius: float
    extent: float
    point_count: int
    max_zoom: int


class TileResponse(msgspec.Struct):
    """The pixels of a tile, row by row from the top.

    ``density`` is 0 without points, else from 1 to 255, logarithmic. ``colors`` is the most
    frequent value of the points of a pixel, as an index of the values of the column; 255 for none.
    """

    density: UInt8
    colors: UInt8 | None


class NearestResponse(msgspec.Struct):
    """The row and position of the nearest point, null if there is none."""

    row: int | None
    x: float
    y: float


class PositionsResponse(msgspec.Struct):
    """The positions of rows that have one."""

    rows: Int32
    x: Float32
    y: Float32


class RegionInfo(msgspec.Struct):
    """A dense region: the words that are typical of its labels, and its densest place."""

    name: str
    count: int
    position: list[float]


class RegionsResponse(msgspec.Struct):
    """The dense regions that have a name, the largest first."""

    regions: list[RegionInfo]


class NeighborsResponse(msgspec.Struct):
    """The nearest rows and their distances."""

    rows: Int32
    distances: Float32
    exact: bool


class SimilarResponse(msgspec.Struct):
    """The nearest rows and their distances.

    ``source_rows`` are points of the source that the query vector is the mean of (the first of
    them), ``source_labels`` their labels, ``source_count`` is their number.
    """

    rows: Int32
    distances: Float32
    source_rows: list[int]
    source_labels: list[str]
    source_count: int


class SearchResponse(msgspec.Struct):
    """The matching rows."""

    count: int
    rows: Int32


class MatchResponse(msgspec.Struct):
    """For each row, the same point of the other embedding, -1 for none."""

    rows: Int32
    matched: int


class ClusterInfo(msgspec.Struct):
    """A cluster and the words that are typical of it; without any, its name is its number."""

    name: str
    count: int
    words: list[str]


class ClustersResponse(msgspec.Struct):
    """The cluster of each row, -1 for none."""

    job: JobStatus
    codes: Int32
    clusters: list[ClusterInfo]


class EditResponse(msgspec.Struct):
    """The new revision of the labels and the number of changed points."""

    revision: int
    changed: int


class SavedView(msgspec.Struct):
    """A view that was saved in the dashboard."""

    name: str
    state: str


class BookmarksResponse(msgspec.Struct):
    """Bookmarks that TensorBoard saved beside the vectors, and views saved in the dashboard."""

    bookmarks: list[Bookmark]
    saved: list[SavedView]
    notes: list[Sentence]
    """What is wrong with bookmarks in the file that are left out."""
