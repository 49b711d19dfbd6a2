"""Requests and responses of the Fairness dashboard.

Matrices of slices and metric columns are sent as arrays in row-major order: the value of slice
``i`` and column ``j`` is at ``i * columns + j``.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from tracklight.analysis.fairness import RowCondition
from tracklight.analysis.source import Sentence
from tracklight.plugin import Float64, Int64, Problem

Positions = Annotated[list[int], msgspec.Meta(max_length=2000)]
CorrectionName = Literal["none", "bonferroni", "holm", "benjamini-hochberg"]
FairnessExportFormat = Literal["csv", "json", "markdown"]


class EvaluationsRequest(msgspec.Struct, forbid_unknown_fields=True):
    """The evaluations of some runs; of all runs by default. Folders are always listed."""

    runs: list[str] | None = None


class EvaluationRow(msgspec.Struct):
    """An evaluation that can be opened.

    ``kind`` is ``logged`` (by ``tracklight.fairness``), ``summary`` (a path in an event file) or
    ``folder`` (found below a log directory); folders have no step.
    """

    id: str
    run: str
    tag: str
    step: int | None
    wall_time: float | None
    kind: str
    version: str


class EvaluationsResponse(msgspec.Struct):
    cursor: str
    evaluations: list[EvaluationRow]


class ResultRequest(msgspec.Struct, forbid_unknown_fields=True):
    """One evaluation; ``model`` is needed if it has several models.

    Without ``columns``, all metric columns are returned. ``replicates`` includes the values of the
    jackknife or bootstrap replicates.
    """

    id: str
    model: str | None = None
    columns: Positions | None = None
    replicates: bool = False


class ColumnRow(msgspec.Struct):
    """A metric at a threshold, and the class or average of a multi-class model.

    ``direction`` is ``higher`` or ``lower`` if such values are better, else ``neutral``.
    """

    metric: str
    threshold: float | None
    output: str | None
    direction: str


class ModelRow(msgspec.Struct):
    name: str
    is_baseline: bool


class FailureRow(msgspec.Struct):
    """A metric that is outside its bounds."""

    slice: str
    metric: str
    value: float | str
    bounds: str
    message: str


class ValidationRow(msgspec.Struct):
    """Whether the model passed the thresholds of its configuration."""

    ok: bool
    failures: list[FailureRow]
    missing_slices: list[str]
    has_no_thresholds: bool
    is_rubber_stamped: bool
    checked_slices: int


class AttributionRow(msgspec.Struct):
    slice: str
    metric: str
    feature: str
    value: float | str


class ResultResponse(msgspec.Struct):
    """Slices, metric columns, and values with their intervals (NaN where undefined).

    ``keys`` are the pairs of column and value of each slice. ``problems`` are files that could not
    be read, ``warnings`` rows that were left out, ``omitted`` slices below the minimum size.
    ``has_replicates`` tells whether intervals of differences take shared rows into account;
    ``replicates`` has their values by replicate, slice and column if they were requested.
    """

    id: str
    model: str
    models: list[ModelRow]
    task: str
    slices: list[str]
    keys: list[list[tuple[str, str]]]
    counts: Int64
    columns: list[ColumnRow]
    value: Float64
    lower: Float64
    upper: Float64
    method: str
    samples: int
    confidence: float
    has_replicates: bool
    replicates: Float64 | None
    plot_slices: Int64
    outputs: list[str]
    warnings: list[Sentence]
    omitted: list[str]
    problems: list[Sentence]
    validation: ValidationRow | None
    attributions: list[AttributionRow]
    columns_used: dict[str, str]


class DifferenceRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Differences to a baseline slice, or to the same slices of another evaluation.

    With ``other``, each slice is compared with the slice of the same name of that evaluation, and
    ``baseline`` is ignored.
    """

    id: str
    model: str | None = None
    baseline: str = "Overall"
    columns: Positions | None = None
    correction: CorrectionName = "holm"
    other: str | None = None
    other_model: str | None = None
    max_gaps: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 50


class GapRow(msgspec.Struct):
    """One of the largest differences; positions refer to the slices and columns of the response."""

    slice: int
    column: int
    difference: float
    significant: bool


class DifferenceResponse(msgspec.Struct):
    """Differences of slices and metric columns (row-major), NaN where undefined.

    ``gaps`` lists the largest differences, significant ones first. ``columns`` are positions in the
    columns of the result.
    """

    slices: list[str]
    columns: list[int]
    baseline_value: Float64
    difference: Float64
    lower: Float64
    upper: Float64
    relative: Float64
    relative_lower: Float64
    relative_upper: Float64
    p_value: Float64
    adjusted_p_value: Float64
    comparisons: int
    gaps: list[GapRow]


class PlotsRequest(msgspec.Struct, forbid_unknown_fields=True):
    """The plots of some slices, by position; of all outputs, or one of a multi-class model."""

    id: str
    slices: Annotated[list[int], msgspec.Meta(max_length=32)]
    model: str | None = None
    output: str | None = None
    buckets: Literal[5, 10, 20] = 10


class PlotRow(msgspec.Struct):
    """The curves of one slice and output.

    A score is positive if it is greater than the threshold. Thresholds descend.
    """

    slice: int
    output: str
    roc_threshold: Float64
    false_positive_rate: Float64
    true_positive_rate: Float64
    pr_threshold: Float64
    precision: Float64
    recall: Float64
    calibration_edges: Float64
    mean_score: Float64
    positive_share: Float64
    calibration_weight: Float64
    distribution_edges: Float64
    negative: Float64
    positive: Float64


class ConfusionRow(msgspec.Struct):
    """Weights by label (rows) and predicted class (columns), row-major."""

    slice: int
    classes: list[str]
    weight: Float64


class PlotsResponse(msgspec.Struct):
    """``missing`` are slices without plots; ``exact`` is false if scores were binned."""

    plots: list[PlotRow]
    confusion: list[ConfusionRow]
    missing: list[int]
    exact: bool


class FairnessHistoryRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A metric of some slices over the steps of a logged evaluation."""

    run: str
    tag: str
    metric: str
    slices: Annotated[list[str], msgspec.Meta(max_length=200)]
    threshold: float | None = None
    output: str | None = None


class SliceDatapointsRequest(msgspec.Struct, forbid_unknown_fields=True):
    """The rows of a slice, for What-If."""

    id: str
    model: str | None = None
    slice: str = "Overall"


class SliceDatapointsResponse(msgspec.Struct):
    """Where What-If finds the rows of a slice, or why it cannot.

    ``prediction`` are the columns with scores, one for each class of a multi-class model.
    """

    path: str
    label: str
    prediction: list[str]
    task: str
    conditions: list[RowCondition]
    problem: Sentence | None


class HistorySeries(msgspec.Struct):
    slice: str
    value: Float64
    lower: Float64
    upper: Float64
    count: Int64


class FairnessHistoryResponse(msgspec.Struct):
    """One value per step; NaN where a slice or the metric is missing at a step."""

    cursor: str
    steps: Int64
    wall_time: Float64
    ids: list[str]
    series: list[HistorySeries]
    problems: list[Problem]


class FairnessExportRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A result as a file: a table as CSV or JSON, or a section of a model card as Markdown."""

    id: str
    model: str | None = None
    format: FairnessExportFormat = "csv"
    baseline: str = "Overall"
