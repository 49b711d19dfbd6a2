"""Requests and responses of the What-If dashboard."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.jobs import JobState
from tracklight.analysis.predictors import Task
from tracklight.analysis.predictors.python_models import Output
from tracklight.analysis.predictors.server_models import ServingMethod
from tracklight.analysis.source import Sentence
from tracklight.analysis.tables.columns import ValueType
from tracklight.analysis.what_if.distances import Metric
from tracklight.analysis.what_if.feature_effects import GridKind
from tracklight.analysis.what_if.thresholds import Measure, Strategy
from tracklight.analysis.what_if.workspace import EditKind
from tracklight.types import Float32, Float64, Int32, Int64

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]
Text = Annotated[str, msgspec.Meta(max_length=10_000)]
Key = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
Row = Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]
Seed = Annotated[int, msgspec.Meta(ge=0, le=1 << 31)]
Fraction = Annotated[float, msgspec.Meta(ge=0, le=1)]
Names = Annotated[list[Name], msgspec.Meta(max_length=10_000)]
Seconds = Annotated[float, msgspec.Meta(gt=0, le=3600)]

BucketCount = Annotated[int, msgspec.Meta(ge=2, le=1000)]


class QuantileBuckets(msgspec.Struct, forbid_unknown_fields=True):
    """Buckets with about the same number of rows."""

    quantiles: BucketCount


#: By column: a number of buckets of equal width, a list of edges, or quantiles.
BucketRules = dict[
    str,
    BucketCount
    | Annotated[list[float], msgspec.Meta(min_length=1, max_length=999)]
    | QuantileBuckets,
]


# ---- models


class GrpcModel(msgspec.Struct, tag="grpc", forbid_unknown_fields=True):
    """TensorFlow Serving over gRPC."""

    name: Name
    address: Name
    model: Name
    version: int | None = None
    signature: Text | None = None
    method: ServingMethod | None = None
    input: Name | None = None
    output: Name | None = None
    timeout_s: Seconds = 30.0


class RestModel(msgspec.Struct, tag="rest", forbid_unknown_fields=True):
    """TensorFlow Serving over REST."""

    name: Name
    address: Name
    model: Name
    version: int | None = None
    signature: Text | None = None
    method: ServingMethod = "predict"
    output: Name | None = None
    timeout_s: Seconds = 30.0


class KserveModel(msgspec.Struct, tag="kserve", forbid_unknown_fields=True):
    """A server of the KServe v2 protocol."""

    name: Name
    address: Name
    model: Name
    version: Text | None = None
    input: Name | None = None
    output: Name | None = None
    timeout_s: Seconds = 30.0


class JsonModel(msgspec.Struct, tag="json", forbid_unknown_fields=True):
    """Any JSON endpoint."""

    name: Name
    url: Name
    template: Text = '{"instances": "$rows"}'
    scores_path: Text = "predictions"
    timeout_s: Seconds = 30.0


class FileModel(msgspec.Struct, tag="file", forbid_unknown_fields=True):
    """A model file below the log directories or ``--data-dir``."""

    name: Name
    path: Name
    output: Output = "probabilities"


class ColumnModel(msgspec.Struct, tag="columns", forbid_unknown_fields=True):
    """Predictions that are columns of the data."""

    name: Name
    columns: Annotated[list[Name], msgspec.Meta(min_length=1, max_length=1000)]


ModelSpec = GrpcModel | RestModel | KserveModel | JsonModel | FileModel | ColumnModel


# ---- requests


class DataFilesRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Data files to read; ``*`` matches several files with the same columns.

    ``types`` are the types of columns by name instead of the inferred ones, such as ``string``, or
    ``string[]`` for lists in texts.
    """

    path: Name
    max_rows: Annotated[int, msgspec.Meta(ge=1, le=10_000_000)] = 1_000_000
    sampling_ratio: Annotated[float, msgspec.Meta(gt=0, le=1)] = 1.0
    seed: Seed = 0
    types: dict[Name, Name] = {}


class ReadAheadRequest(DataFilesRequest):
    """Data files that are opened next, unless ``session`` is still open."""

    session: Text = ""


class OpenRequest(DataFilesRequest):
    """Data files to open.

    ``prediction`` are columns with scores, one or one for each class, which become a model.
    ``class_names`` are the names of the classes; by default those that models give them.
    """

    label: Name | None = None
    prediction: Names = []
    task: Task = "classification"
    class_names: Names = []


class ReadAheadResponse(msgspec.Struct):
    """Whether the files are being read."""

    is_reading: bool


class SessionRequest(msgspec.Struct, forbid_unknown_fields=True):
    """An open data set."""

    session: Key


class ConfigureRequest(SessionRequest):
    """The label, the inputs of models, and the names of the classes; null keeps the last two.

    ``classes_path`` is a text file with one class name per line.
    """

    label: Name | None = None
    features: Names | None = None
    class_names: Names | None = None
    classes_path: Name | None = None


class AddModelRequest(SessionRequest, kw_only=True):
    """A model to add; ``features`` are the columns that it gets, by default all inputs."""

    spec: ModelSpec
    task: Task = "classification"
    features: Names | None = None


class ModelRequest(SessionRequest):
    """One model; by default the first."""

    model: Name | None = None


class SliceThresholds(msgspec.Struct, forbid_unknown_fields=True):
    """Thresholds of slices, by model and slice, which decide the predicted classes of their rows.

    Other rows have the threshold of their model. ``model_thresholds`` are those of computed columns
    in ``slice_by``, by model; 0.5 by default.
    """

    slice_by: Annotated[list[Name], msgspec.Meta(min_length=1, max_length=3)]
    thresholds: dict[str, dict[str, Fraction]]
    buckets: BucketRules = {}
    model_thresholds: dict[str, Fraction] = {}


class DataColumnsRequest(SessionRequest, kw_only=True):
    """Columns of the data, or computed ones, for charts."""

    names: Names
    threshold: Fraction = 0.5
    slice_thresholds: SliceThresholds | None = None


class RowRequest(SessionRequest):
    """One row."""

    row: Row = 0


class RowImageRequest(RowRequest, kw_only=True):
    """An image of one row, scaled down to ``max_px`` if given; ``step`` of a list or sequence."""

    feature: Name
    version: int = 0
    step: Row = 0
    max_px: Annotated[int, msgspec.Meta(ge=16, le=4096)] | None = None


class SaliencyRequest(RowRequest, kw_only=True):
    """The attributions of the pixels of an image; the model is called."""

    feature: Name
    step: Row = 0
    model: Name | None = None


class RowEditRequest(SessionRequest):
    """A change of the data. ``values`` are the new values; bytes as ``{"base64": …}``.

    With ``step``, an edit changes only that item of lists, or that step of sequences; the number of
    items appends one. ``predict`` changes nothing: it calls models again that have failed.
    """

    kind: Literal["edit", "add", "duplicate", "delete", "undo", "reset", "predict"] = "edit"
    row: Row = 0
    values: dict[Name, Any] = {}
    step: Row | None = None


class AddFeatureRequest(RowRequest, kw_only=True):
    """A new column with a value in one row; the others are missing.

    With ``is_input``, models get it unless they name their inputs.
    """

    name: Name
    type: Literal["integer", "float", "boolean", "string"]
    value: Any
    is_input: bool = True


class SaveSliceRequest(SessionRequest, kw_only=True):
    """A named set of rows, which becomes a boolean column that is no input of models.

    Many rows are sent as ``row_bits``: bit ``n % 8`` of byte ``n // 8`` is row ``n``.
    """

    name: Name
    rows: Annotated[list[Row], msgspec.Meta(max_length=100_000)] = []
    row_bits: Annotated[bytes, msgspec.Meta(title="bit set of rows, base64")] | None = None


class SliceRequest(SessionRequest, kw_only=True):
    """A set of rows that was saved."""

    name: Name


class ThumbnailsRequest(SessionRequest, kw_only=True):
    """The images of a column, of all rows that are not deleted."""

    feature: Name


class ThumbnailTileRequest(ThumbnailsRequest, kw_only=True):
    """One tile of the images. ``version`` is that of the data set."""

    version: int = 0
    tile: Annotated[int, msgspec.Meta(ge=0, le=10_000)]


class DistanceRequest(RowRequest):
    """The distance of all rows to one row.

    Rows are compared by all features, by the vectors of the column ``embedding``, or
    ``by_attributions`` of a model.
    """

    metric: Metric = "l1"
    weights: dict[Name, float] = {}
    embedding: Name | None = None
    by_attributions: bool = False
    model: Name | None = None


class CounterfactualRequest(RowRequest):
    """The nearest rows with another prediction, and optionally the smallest edits.

    ``embedding`` is a column of vectors by which rows are compared, instead of their features;
    with ``by_attributions``, those of the model are compared.
    """

    metric: Metric = "l1"
    weights: dict[Name, float] = {}
    embedding: Name | None = None
    by_attributions: bool = False
    model: Name | None = None
    count: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 1
    locked: Names = []
    threshold: float | None = None
    slice_thresholds: SliceThresholds | None = None
    search_edits: bool = False
    max_changes: Annotated[int, msgspec.Meta(ge=1, le=20)] = 5


class DependenceRequest(SessionRequest):
    """Partial dependence of features, or of one pair if ``is_pair``.

    ``name[3]`` is an item of a list. Without features, all are evaluated; ``items`` then chooses
    items of lists, such as ``0,2,4-6``. With ``slice_thresholds``, the curves of a ``row`` have the
    threshold of each varied copy; ``threshold`` is that of all other slices.
    """

    features: Names = []
    items: Text = ""
    model: Name | None = None
    row: Row | None = None
    is_pair: bool = False
    points: Annotated[int, msgspec.Meta(ge=2, le=200)] = 10
    grid: GridKind = "even"
    value_range: tuple[float, float] | None = None
    sample: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 1000
    curves: Annotated[int, msgspec.Meta(ge=0, le=500)] = 0
    threshold: Fraction = 0.5
    slice_thresholds: SliceThresholds | None = None
    seed: Seed = 0


class FeatureImportanceRequest(SessionRequest):
    """Permutation importance."""

    model: Name | None = None
    metric: Name | None = None
    repeats: Annotated[int, msgspec.Meta(ge=1, le=100)] = 5
    seed: Seed = 0


class ShapleyRequest(SessionRequest, kw_only=True):
    """Shapley values of some rows."""

    rows: Annotated[list[Row], msgspec.Meta(min_length=1, max_length=1000)]
    model: Name | None = None
    class_name: Name | None = None
    background: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 100
    permutations: Annotated[int, msgspec.Meta(ge=2, le=10_000)] = 50
    seed: Seed = 0


class PerformanceRequest(SessionRequest):
    """Metrics overall and by slice; several columns are crossed.

    ``model_thresholds`` are those of computed columns in ``slice_by``, by model; 0.5 by default.
    """

    model: Name | None = None
    slice_by: Annotated[list[Name], msgspec.Meta(max_length=3)] = []
    buckets: BucketRules = {}
    thresholds: Annotated[list[Fraction], msgspec.Meta(min_length=1, max_length=20)] = (
        msgspec.field(default_factory=lambda: [0.5])
    )
    intervals: Literal["bootstrap", "jackknife", "exact", "none"] = "bootstrap"
    model_thresholds: dict[str, Fraction] = {}


class ComparisonRequest(SessionRequest, kw_only=True):
    """How the metrics of the model ``other`` differ from those of ``model``.

    ``thresholds`` are those of slices with two classes by name, with an empty name for all others;
    0.5 by default. ``model_thresholds`` are those of computed columns in ``slice_by``, by model.
    """

    model: Name
    other: Name
    slice_by: Annotated[list[Name], msgspec.Meta(max_length=3)] = []
    buckets: BucketRules = {}
    thresholds: dict[str, Fraction] = {}
    other_thresholds: dict[str, Fraction] = {}
    model_thresholds: dict[str, Fraction] = {}
    intervals: Literal["bootstrap", "jackknife", "exact", "none"] = "bootstrap"


class OptimizeRequest(PerformanceRequest):
    """A strategy that chooses thresholds."""

    strategy: Strategy = "single"
    cost_ratio: Annotated[float, msgspec.Meta(ge=0, le=1e9)] = 1.0
    measure: Measure = "positive_rate"
    max_gap: Fraction = 0.05


class FrontierRequest(PerformanceRequest):
    """What a smaller gap of a rate between slices costs."""

    cost_ratio: Annotated[float, msgspec.Meta(ge=0, le=1e9)] = 1.0
    measure: Measure = "positive_rate"


class FeatureStatisticsRequest(SessionRequest):
    """Statistics of all columns, and the drift to other open data sets."""

    others: Annotated[list[Key], msgspec.Meta(max_length=20)] = []


class ModelJobRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A job that was started before."""

    job: Key


class DataExportRequest(SessionRequest):
    """The rows with edits and predictions, as a file.

    ``thresholds`` are those of ``models`` with two classes, in the same order; 0.5 by default.
    """

    format: Literal["csv", "jsonl"] = "csv"
    models: Names = []
    thresholds: list[Fraction] = []
    slice_thresholds: SliceThresholds | None = None

    def __post_init__(self) -> None:
        if len(self.models) != len(self.thresholds):
            raise ValueError("models and thresholds must have the same length")


# ---- responses


class DataFile(msgspec.Struct):
    """A file that can be opened."""

    path: str
    name: str
    bytes: int


class DataFilesResponse(msgspec.Struct):
    """Data files and model files, and what the server allows."""

    data: list[DataFile]
    models: list[DataFile]
    allow_model_execution: bool
    model_hosts: list[str]
    is_truncated: bool


class DataColumnInfo(msgspec.Struct):
    """A column of the data, or one that is computed from predictions."""

    name: str
    type: ValueType
    is_list: bool
    is_sequence: bool
    is_computed: bool
    is_input: bool
    missing: int
    minimum: float | None = None
    maximum: float | None = None
    distinct: int | None = None
    dimensions: int | None = None
    """Length of the vectors of an embedding."""


class ModelInfo(msgspec.Struct):
    """A model of a session."""

    name: str
    task: Task
    is_static: bool
    is_predicted: bool
    features: list[str]
    class_names: list[str]


class ValueChange(msgspec.Struct):
    """The value of a feature before and after a change; images and bytes are null."""

    name: str
    before: Any
    after: Any


class EditInfo(msgspec.Struct):
    """A change of the data that can be undone."""

    kind: EditKind
    row: int
    changes: list[ValueChange]


class SessionInfo(msgspec.Struct):
    """An open data set. ``version`` changes with every edit.

    ``path`` is the path with which it was opened; empty for data of a program. With
    ``has_distance`` the program gave a function for the metric ``custom``. ``edits`` are the last
    changes, the newest first. ``slices`` are the columns that are named sets of rows.
    """

    session: str
    title: str
    version: int
    row_count: int
    active_count: int
    label: str | None
    columns: list[DataColumnInfo]
    models: list[ModelInfo]
    edit_count: int
    problems: list[Sentence]
    path: str = ""
    has_distance: bool = False
    edits: list[EditInfo] = []
    slices: list[str] = []


class DataSessionsResponse(msgspec.Struct):
    """All open data sets."""

    sessions: list[SessionInfo]


class ColumnValues(msgspec.Struct):
    """The values of one column. Strings are codes, -1 for missing; numbers have NaN for missing."""

    name: str
    type: ValueType
    numbers: Float64 | None = None
    codes: Int32 | None = None
    categories: list[str] = []


class DataColumnsResponse(msgspec.Struct):
    """Columns for charts. ``rows`` are the numbers of the rows that are not deleted."""

    version: int
    rows: Int32
    columns: list[ColumnValues]


class FeatureValue(msgspec.Struct):
    """One value of a row; images and bytes have only a size.

    The value of a sequence is a list of steps, each a list. Long lists and texts are truncated.
    ``attributions`` are those of each model that returns some.
    """

    name: str
    type: ValueType
    is_list: bool
    is_sequence: bool
    value: Any
    original: Any
    is_truncated: bool
    bytes: int | None = None
    attributions: dict[str, float] = {}


class ModelScores(msgspec.Struct):
    """The scores of one row by class, from the first prediction to the current one."""

    model: str
    class_names: list[str]
    history: list[list[float]]


class RowResponse(msgspec.Struct):
    """One row with its predictions."""

    version: int
    row: int
    values: list[FeatureValue]
    scores: list[ModelScores]


class SaliencyResponse(msgspec.Struct):
    """The attributions of an image, pixel by pixel in rows; a grid may have fewer pixels."""

    width: int
    height: int
    values: Float32


class RowEditResponse(msgspec.Struct):
    """The row after a change; null if it was deleted or nothing was left to undo.

    ``problems`` say why models could not predict it; then it has no scores.
    """

    version: int
    edit_count: int
    active_count: int
    row: RowResponse | None
    problems: list[Sentence] = []


class DistancesResponse(msgspec.Struct):
    """The distance of each row, in the order of the rows; ignored features have unique values.

    With ``status``, the distances are being computed: send the request again.
    """

    distances: Float32
    features: list[str]
    ignored: list[str]
    status: ModelJobStatus | None = None


class Neighbor(msgspec.Struct):
    """A counterfactual row."""

    row: int
    distance: float
    feature_distances: dict[str, float]


class EditSuggestion(msgspec.Struct):
    """Changes of features that change the prediction."""

    changes: dict[str, Any]
    source_row: int
    distance: float


class ModelJobStatus(msgspec.Struct):
    """The state of a job; ``problem`` says why it failed."""

    job: str
    state: JobState
    stage: Sentence
    done: int
    total: int
    problem: Sentence | None


class CounterfactualsResponse(msgspec.Struct):
    """The nearest rows with another prediction, and the smallest edits if requested.

    A search that takes long is a job: ``status`` is set, and its result has the rows. The job is
    cancelled if its state is not requested for some seconds.
    """

    rows: list[Neighbor]
    edits: list[EditSuggestion]
    status: ModelJobStatus | None = None


class DependenceCurve(msgspec.Struct):
    """The partial dependence of one feature, or of a pair. Matrices are flattened row by row."""

    features: list[str]
    values: list[list[Any]]
    is_numeric: list[bool]
    class_names: list[str]
    mean: Float64
    standard_error: Float64
    individual: Float32
    """Curves of some rows: rows x points x classes."""
    rows: Int32
    variation: float
    thresholds: Float64
    """The threshold of each varied copy of a row; empty without thresholds of slices."""


class FeatureImportance(msgspec.Struct):
    """How much a metric decreases when a feature is shuffled."""

    feature: str
    importance: float
    std: float


class ShapleyRow(msgspec.Struct):
    """The contributions of the features to one prediction."""

    row: int
    prediction: float
    contributions: Float64
    standard_error: Float64


class JobResult(msgspec.Struct):
    """The state of a job, and its result when it is done."""

    status: ModelJobStatus
    dependence: list[DependenceCurve] = []
    importance: list[FeatureImportance] = []
    shapley: list[ShapleyRow] = []
    features: list[str] = []
    expected: float | None = None
    baseline: float | None = None
    predicted_rows: int | None = None
    counterfactuals: CounterfactualsResponse | None = None
    distances: DistancesResponse | None = None
    performance: PerformanceResponse | None = None
    comparison: ComparisonResponse | None = None


class MetricValues(msgspec.Struct):
    """One metric for all slices."""

    metric: str
    threshold: float | None
    class_name: str | None
    value: Float64
    lower: Float64
    upper: Float64


class PerformanceResponse(msgspec.Struct):
    """Metrics by slice; the first slice is all rows.

    ``thresholds`` and the confusion counts (slices x 101, flattened) are only set for models with
    two classes, and let the page compute everything that depends on a threshold. Models with more
    classes have confusion ``matrices`` (slices x classes x classes), and true and false positives
    of each class against the others (``class_tp``, ``class_fp``: slices x classes x 101).
    ``edges`` are the bounds between the buckets of numeric columns, ``label_values`` the values of
    the label column for the classes, and ``attributions`` the mean attribution of each feature by
    slice, with the bounds of its interval.

    With ``status``, the metrics of a large table are being computed: send the request again. The
    job is cancelled if that is not done for some seconds.
    """

    version: int
    task: Task
    slices: list[str]
    counts: Int64
    metrics: list[MetricValues]
    class_names: list[str]
    thresholds: Float64
    tp: Float64
    fp: Float64
    tn: Float64
    fn: Float64
    matrices: Int64
    calibration_score: Float64
    calibration_share: Float64
    calibration_count: Float64
    warnings: list[Sentence]
    edges: dict[str, Float64] = {}
    label_values: list[str] = []
    class_tp: Float64 | None = None
    class_fp: Float64 | None = None
    attributions: dict[str, Float64] = {}
    attribution_lower: dict[str, Float64] = {}
    attribution_upper: dict[str, Float64] = {}
    status: ModelJobStatus | None = None


class ComparisonResponse(msgspec.Struct):
    """Differences of metrics by slice, with intervals; the first slice is all rows.

    Metrics of models with two classes are at the thresholds of the slices. Both models are
    resampled together, so the intervals are those of the difference. They are not adjusted for the
    number of slices.
    """

    version: int
    slices: list[str]
    differences: list[MetricValues]
    status: ModelJobStatus | None = None
    """As in `PerformanceResponse`."""


class OptimizeResponse(msgspec.Struct):
    """One threshold per slice, and what it costs."""

    slices: list[str]
    thresholds: Float64
    is_defined: list[bool]
    cost: float
    single_cost: float
    gap: float | None
    measures: dict[str, Float64]


class FrontierResponse(msgspec.Struct):
    """Choices that no other beats in both cost and gap, the smallest gap first.

    ``thresholds`` are choices x slices, flattened.
    """

    slices: list[str]
    gaps: Float64
    costs: Float64
    thresholds: Float64


class ColumnStatistics(msgspec.Struct, kw_only=True):
    """Statistics of a column in one data set.

    ``missing`` counts ``rows``; ``zeros`` and others count values, of lists their items: ``count``.
    """

    rows: int
    count: int
    missing: int
    mean: float
    std: float
    zeros: int
    minimum: float
    median: float
    maximum: float
    unique: int
    top: str
    histogram: Int64
    quantiles: Float64


class OtherStatistics(ColumnStatistics, kw_only=True):
    """A column in another data set, and how much its distribution differs."""

    session: str
    jensen_shannon: float
    population_stability: float
    chi_square: float
    kolmogorov_smirnov: float


class StatisticsRow(ColumnStatistics, kw_only=True):
    """Statistics of one column.

    ``others`` are those of the data sets that have a column of the same kind; the histograms of
    all have the same ``edges`` or ``values``. ``length_edges`` and ``length_histogram`` are the
    lengths of lists, and ``list_length`` is set if all are equal.
    """

    name: str
    type: ValueType
    is_list: bool
    outliers: int
    top_count: int
    mean_length: float
    non_uniformity: float
    warnings: list[str]
    edges: Float64
    values: list[str]
    length_edges: Float64
    length_histogram: Int64
    list_length: int | None = None
    others: list[OtherStatistics] = []


class FeatureStatisticsResponse(msgspec.Struct):
    """Statistics of all columns."""

    version: int
    rows: list[StatisticsRow]


#: An empty array in responses.
NO_VALUES: NDArray[np.float64] = np.empty(0)
