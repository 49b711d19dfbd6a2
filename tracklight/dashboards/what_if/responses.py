"""Build the responses of the What-If dashboard from a workspace."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tracklight.analysis.evaluation.metrics import CALIBRATION_BUCKETS, calibration_sums, divide
from tracklight.analysis.evaluation.resampling import Resampling
from tracklight.analysis.evaluation.slices import Buckets
from tracklight.analysis.jobs import LOCAL_TASKS, JobProgress, Tasks
from tracklight.analysis.predictors import Predictor
from tracklight.analysis.source import Sentence
from tracklight.analysis.tables import DataTable
from tracklight.analysis.tables.columns import DataColumn
from tracklight.analysis.what_if.distances import find_dimensions
from tracklight.analysis.what_if.feature_statistics import (
    FeatureStatistics,
    compute_drift,
    compute_statistics,
    make_joint_histogram,
)
from tracklight.analysis.what_if.performance import (
    DEFAULT_THRESHOLD,
    SliceAssignment,
    assign_slices,
    compare_performance,
    count_binary,
    count_confusion,
    count_one_vs_rest,
    estimate_means,
    evaluate,
    get_labels_and_scores,
    resolve_buckets,
)
from tracklight.analysis.what_if.thresholds import (
    THRESHOLDS,
    choose_thresholds,
    compute_frontier,
)
from tracklight.analysis.what_if.workspace import Edit, Workspace
from tracklight.dashboards.what_if.schemas import (
    NO_VALUES,
    ColumnStatistics,
    ColumnValues,
    ComparisonRequest,
    ComparisonResponse,
    DataColumnInfo,
    DataColumnsRequest,
    DataColumnsResponse,
    DataExportRequest,
    EditInfo,
    FeatureStatisticsResponse,
    FeatureValue,
    FrontierRequest,
    FrontierResponse,
    MetricValues,
    ModelInfo,
    ModelJobStatus,
    ModelScores,
    OptimizeRequest,
    OptimizeResponse,
    OtherStatistics,
    PerformanceRequest,
    PerformanceResponse,
    QuantileBuckets,
    RowResponse,
    SessionInfo,
    SliceThresholds,
    StatisticsRow,
    ValueChange,
)
from tracklight.dashboards.what_if.store import OpenSession
from tracklight.errors import UsageError
from tracklight.plugin import Stream
from tracklight.types import Float64, Int64

_MAX_TEXT = 20_000
_MAX_ITEMS = 2000
_EXPORT_ROWS = 5000
_MAX_EDITS = 50
#: With more classes and slices, curves of each class are not sent.
_MAX_CLASS_CURVES = 2000
#: Small slices have an interval if a metric is defined in half of the samples.
_MIN_DEFINED = 0.5


def make_session_info(session: OpenSession) -> SessionInfo:
    """Describe a data set with its columns and models; predictions are not computed."""
    workspace = session.workspace
    inputs = set(workspace.features)
    # The page cannot choose a column without a name; models get it.
    columns = [_describe_column(c, c.name in inputs, False) for c in
               workspace.table.columns.values() if c.name]  # fmt: skip
    for predictor in workspace.models:
        if workspace.is_predicted(predictor.name):
            computed = _make_computed_columns(workspace, predictor, DEFAULT_THRESHOLD)
            columns += [_describe_column(column, False, True) for column in computed]
    return SessionInfo(
        session.key,
        session.title,
        workspace.version,
        len(workspace.table),
        int(workspace.is_active.sum()),
        workspace.label,
        columns,
        [_describe_model(workspace, predictor) for predictor in workspace.models],
        len(workspace.history),
        [Sentence.make(problem) for problem in workspace.list_problems()],
        session.path,
        workspace.distance is not None,
        [_describe_edit(edit) for edit in workspace.history[: -_MAX_EDITS - 1 : -1]],
        list(workspace.slices),
    )


def _describe_edit(edit: Edit) -> EditInfo:
    """Describe a change of values, or what else was done with a row."""
    names = dict.fromkeys([*edit.before, *edit.after])
    changes = [
        ValueChange(name, to_json(edit.before.get(name)), to_json(edit.after.get(name)))
        for name in names
    ]
    return EditInfo(edit.kind, edit.row, changes)


def _describe_column(column: DataColumn, is_input: bool, is_computed: bool) -> DataColumnInfo:
    info = DataColumnInfo(
        column.name,
        column.type,
        column.is_list,
        column.is_sequence,
        is_computed,
        is_input,
        int(column.select_missing().sum()),
        dimensions=find_dimensions(column),
    )
    if column.is_numeric and not column.is_list:
        numbers = column.to_float64()
        finite = numbers[np.isfinite(numbers)]
        if len(finite):
            info.minimum, info.maximum = float(finite.min()), float(finite.max())
    if column.type == "string":
        info.distinct = len(column.categories)
    return info


def _describe_model(workspace: Workspace, predictor: Predictor) -> ModelInfo:
    is_predicted = workspace.is_predicted(predictor.name)
    names = workspace.get_class_names(predictor.name) if is_predicted else []
    return ModelInfo(
        predictor.name,
        predictor.task,
        predictor.is_static,
        is_predicted,
        workspace.get_model_features(predictor.name),
        names,
    )


def _make_computed_columns(
    workspace: Workspace, predictor: Predictor, threshold: float | Float64
) -> list[DataColumn]:
    """Return prediction columns; without usable labels, those that need none."""
    try:
        return workspace.make_prediction_columns(predictor.name, threshold)
    except UsageError:
        label, workspace.label = workspace.label, None
        try:
            return workspace.make_prediction_columns(predictor.name, threshold)
        finally:
            workspace.label = label


def make_columns_response(workspace: Workspace, request: DataColumnsRequest) -> DataColumnsResponse:
    """Return columns of the data, or computed ones, of all rows that are not deleted."""
    available = dict(workspace.table.columns)
    if any(name not in available for name in request.names):
        for predictor in workspace.models:
            if workspace.is_predicted(predictor.name):
                limits = make_row_thresholds(
                    workspace, predictor.name, request.threshold, request.slice_thresholds
                )
                computed = _make_computed_columns(workspace, predictor, limits)
                available.update({c.name: c for c in computed if c.name not in available})
    rows = np.flatnonzero(workspace.is_active)
    columns = []
    for name in request.names:
        if name not in available:
            workspace.table.get_column(name)  # raises with the most similar name
        columns.append(_make_column_values(available[name], rows))
    return DataColumnsResponse(workspace.version, rows.astype(np.int32), columns)


def _make_column_values(column: DataColumn, rows: Int64) -> ColumnValues:
    """Return the values of some rows; of lists, their lengths."""
    if column.is_list:
        lengths = np.diff(column.get_item_offsets())[rows].astype(np.float64)
        return ColumnValues(column.name, column.type, numbers=lengths)
    column = column.take(rows)
    if column.is_numeric:
        return ColumnValues(column.name, column.type, numbers=column.to_float64())
    if column.type == "string":
        used = np.unique(column.values[column.values >= 0])
        table = np.full(len(column.categories) + 1, -1, np.int32)
        table[used] = np.arange(len(used))
        texts = [column.categories[code][:_MAX_TEXT] for code in used.tolist()]
        return ColumnValues(column.name, column.type, codes=table[column.values], categories=texts)
    sizes = [np.nan if value is None else len(value) for value in column.values]
    return ColumnValues(column.name, column.type, numbers=np.array(sizes, np.float64))


def make_row_response(workspace: Workspace, row: int) -> RowResponse:
    """Return one row with the predictions of all models that have predicted it."""
    workspace.table.check_row(row)
    original = workspace.original
    attributions: dict[str, dict[str, float]] = {}
    scores = []
    for predictor in workspace.models:
        if not workspace.is_predicted(predictor.name):
            continue
        names = workspace.get_class_names(predictor.name)
        history = [np.atleast_1d(item).tolist() for item in
                   workspace.get_history(row, predictor.name)]  # fmt: skip
        scores.append(ModelScores(predictor.name, names, history))
        for name, found in workspace.predict(predictor.name).attributions.items():
            if np.isfinite(found[row]):
                attributions.setdefault(name, {})[predictor.name] = float(found[row])
    values = []
    for name, column in workspace.table.columns.items():
        is_loaded = row < len(original) and name in original
        loaded = original.get_column(name).get_value(row) if is_loaded else None
        value = column.get_value(row)
        size = len(value) if isinstance(value, bytes) else None
        values.append(
            FeatureValue(
                name,
                column.type,
                column.is_list,
                column.is_sequence,
                to_json(value),
                to_json(loaded),
                _is_truncated(value),
                size,
                attributions.get(name, {}),
            )
        )
    return RowResponse(workspace.version, row, values, scores)


def to_json(value: Any) -> Any:
    """Return a value as JSON, without bytes and the ends of long texts and lists."""
    if isinstance(value, bytes):
        return None
    if isinstance(value, str):
        return value[:_MAX_TEXT]
    if isinstance(value, list):
        return [to_json(item) for item in value[:_MAX_ITEMS]]
    return value


def _is_truncated(value: Any) -> bool:
    """Return whether `to_json` leaves out a part of a value."""
    if isinstance(value, str):
        return len(value) > _MAX_TEXT
    if isinstance(value, list):
        return len(value) > _MAX_ITEMS or any(_is_truncated(item) for item in value)
    return False


def decode_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the values of an edit; bytes are sent as ``{"base64": …}``.

    Raises:
        UsageError: A value is not valid base64, or an object of another form.
    """
    return {name: _decode_value(name, value) for name, value in values.items()}


def _decode_value(name: str, value: Any) -> Any:
    if isinstance(value, list):
        return [_decode_value(name, item) for item in value]
    if not isinstance(value, dict):
        return value
    if set(value) != {"base64"} or not isinstance(value["base64"], str):
        raise UsageError(
            "what_if.value_form",
            '"{feature}" must be a value, a list, or {{"base64": "…"}}',
            feature=name,
        )
    try:
        return base64.b64decode(value["base64"], validate=True)
    except ValueError:
        raise UsageError(
            "what_if.invalid_base64", '"{feature}" is not valid base64', feature=name
        ) from None


# ---- performance


def make_performance_response(
    workspace: Workspace,
    request: PerformanceRequest,
    tasks: Tasks = LOCAL_TASKS,
    progress: JobProgress | None = None,
) -> PerformanceResponse:
    """Return the metrics of a model, overall and by slice, with what thresholds need."""
    workspace = _with_computed_columns(workspace, request)
    model = request.model
    predictor = workspace.get_model(model)
    buckets = _resolve_buckets(workspace, request)
    result = evaluate(
        workspace,
        model,
        slice_by=[request.slice_by] if request.slice_by else [],
        buckets=buckets,
        thresholds=request.thresholds,
        resampling=_make_resampling(request),
        tasks=tasks,
        progress=progress,
    )
    metrics = [
        MetricValues(
            column.metric,
            column.threshold,
            column.output,
            result.value[:, at],
            result.lower[:, at],
            result.upper[:, at],
        )
        for at, column in enumerate(result.columns)
    ]
    response = PerformanceResponse(
        workspace.version,
        predictor.task,
        result.slice_names,
        result.counts,
        metrics,
        workspace.get_class_names(model),
        thresholds=NO_VALUES,
        tp=NO_VALUES,
        fp=NO_VALUES,
        tn=NO_VALUES,
        fn=NO_VALUES,
        matrices=np.empty(0, np.int64),
        calibration_score=NO_VALUES,
        calibration_share=NO_VALUES,
        calibration_count=NO_VALUES,
        warnings=[Sentence.make(warning) for warning in result.warnings],
        edges={name: np.array(rule.edges) for name, rule in buckets.items()},
    )
    if predictor.task == "classification":
        response.label_values = workspace.get_label_values(model)
        unknown = workspace.describe_unknown_labels(model)
        if unknown is not None:
            response.warnings.append(Sentence.make(unknown))
        _add_counts(workspace, request, buckets, response)
    _add_attributions(workspace, request, buckets, response)
    return response


def make_pending_performance(
    workspace: Workspace, request: PerformanceRequest, status: ModelJobStatus
) -> PerformanceResponse:
    """Return a response without metrics, which are being computed."""
    return PerformanceResponse(
        workspace.version,
        workspace.get_model(request.model).task,
        slices=[],
        counts=np.empty(0, np.int64),
        metrics=[],
        class_names=[],
        thresholds=NO_VALUES,
        tp=NO_VALUES,
        fp=NO_VALUES,
        tn=NO_VALUES,
        fn=NO_VALUES,
        matrices=np.empty(0, np.int64),
        calibration_score=NO_VALUES,
        calibration_share=NO_VALUES,
        calibration_count=NO_VALUES,
        warnings=[],
        status=status,
    )


def _make_resampling(request: PerformanceRequest | ComparisonRequest) -> Resampling:
    return Resampling(request.intervals, min_defined=_MIN_DEFINED)


def _add_attributions(
    workspace: Workspace,
    request: PerformanceRequest,
    buckets: Mapping[str, Buckets],
    response: PerformanceResponse,
) -> None:
    """Add the mean attribution of each feature in each slice."""
    attributions = workspace.predict(request.model).attributions
    if not attributions:
        return
    parts = []
    names: list[str] = []
    for columns in _list_groups(request):
        assignment = assign_slices(workspace.table, columns, buckets)
        names += assignment.names
        codes = np.where(workspace.is_active, assignment.codes, -1)
        size = len(assignment.names)
        parts.append(
            estimate_means(list(attributions.values()), codes, size, _make_resampling(request))
        )
    order = [names.index(name) for name in response.slices]
    for kind, target in (
        ("value", response.attributions),
        ("lower", response.attribution_lower),
        ("upper", response.attribution_upper),
    ):
        values = np.concatenate([getattr(part, kind) for part in parts])[order]
        target.update(zip(attributions, values.T.copy(), strict=True))


def make_comparison_response(
    workspace: Workspace,
    request: ComparisonRequest,
    tasks: Tasks = LOCAL_TASKS,
    progress: JobProgress | None = None,
) -> ComparisonResponse:
    """Return how the metrics of two models differ, with intervals."""
    workspace = _with_computed_columns(workspace, request)
    first, difference = compare_performance(
        workspace,
        request.model,
        request.other,
        slice_by=[request.slice_by] if request.slice_by else [],
        buckets=_resolve_buckets(workspace, request),
        thresholds=request.thresholds,
        second_thresholds=request.other_thresholds,
        resampling=_make_resampling(request),
        tasks=tasks,
        progress=progress,
    )
    columns = (difference.absolute, difference.lower, difference.upper)
    return ComparisonResponse(
        workspace.version,
        first.slice_names,
        [
            MetricValues(
                column.metric,
                column.threshold,
                column.output,
                *(values[:, at].copy() for values in columns),
            )
            for at, column in enumerate(first.columns)
        ],
    )


def _list_groups(request: PerformanceRequest) -> list[Sequence[str]]:
    """Return the columns of the slice of all rows, and those of the others."""
    return [[], *([request.slice_by] if request.slice_by else [])]


def make_row_thresholds(
    workspace: Workspace, model: str, default: float, slices: SliceThresholds | None
) -> float | Float64:
    """Return the threshold of each row of the data: that of its slice, or else the default."""
    get_thresholds = make_threshold_function(workspace, model, default, slices)
    return default if get_thresholds is None else get_thresholds(workspace.table)


def make_threshold_function(
    workspace: Workspace,
    model: str,
    default: float,
    slices: SliceThresholds | None,
    *,
    row: int = 0,
) -> Callable[[DataTable], Float64] | None:
    """Return a function for the thresholds of the rows of a table; None if all have the default.

    Changed copies of ``row`` may be in another slice. They have no columns of predictions yet: if
    these are the slices, the copies have the threshold of the row.
    """
    chosen = {} if slices is None else slices.thresholds.get(model, {})
    if slices is None or not chosen:
        return None
    extended = _with_computed_columns(workspace, slices)
    buckets = _resolve_buckets(extended, slices)

    def get_thresholds(table: DataTable) -> Float64:
        if table is workspace.table:
            table = extended.table
        elif any(name not in table for name in slices.slice_by):
            return np.full(len(table), get_thresholds(workspace.table)[row])
        assignment = assign_slices(table, slices.slice_by, buckets)
        by_slice = [chosen.get(name, default) for name in assignment.names]
        limits: Float64 = np.array([*by_slice, default])[assignment.codes]
        return limits

    return get_thresholds


def assign_requested_slices(workspace: Workspace, request: PerformanceRequest) -> SliceAssignment:
    """Return the slice of each row for the columns of a request."""
    workspace = _with_computed_columns(workspace, request)
    return assign_slices(workspace.table, request.slice_by, _resolve_buckets(workspace, request))


def _with_computed_columns(
    workspace: Workspace, request: PerformanceRequest | ComparisonRequest | SliceThresholds
) -> Workspace:
    """Return the workspace with columns of predictions, if rows are sliced by one of them."""
    if all(name in workspace.table for name in request.slice_by):
        return workspace
    extended = workspace.snapshot()
    for predictor in workspace.models:
        if workspace.is_predicted(predictor.name):
            threshold = request.model_thresholds.get(predictor.name, DEFAULT_THRESHOLD)
            computed = _make_computed_columns(workspace, predictor, threshold)
            added = [column for column in computed if column.name not in extended.table]
            extended.table = extended.table.with_columns(added)
    return extended


def _resolve_buckets(
    workspace: Workspace, request: PerformanceRequest | ComparisonRequest | SliceThresholds
) -> dict[str, Buckets]:
    """Return fixed edges, so that all parts of a response have the same slices."""
    rules = {
        name: Buckets(quantiles=rule.quantiles) if isinstance(rule, QuantileBuckets) else rule
        for name, rule in request.buckets.items()
    }
    table = workspace.table.select(request.slice_by).take(workspace.is_active)
    return resolve_buckets(table, request.slice_by, rules)


def _add_counts(
    workspace: Workspace,
    request: PerformanceRequest,
    buckets: Mapping[str, Buckets],
    response: PerformanceResponse,
) -> None:
    groups = _list_groups(request)
    if len(response.class_names) != 2:
        matrices: dict[str, Int64] = {}
        curves: dict[str, Float64] = {}
        has_curves = len(response.class_names) * len(response.slices) <= _MAX_CLASS_CURVES
        for columns in groups:
            assignment, counted = count_confusion(workspace, request.model, columns, buckets)
            matrices.update(zip(assignment.names, counted, strict=True))
            if has_curves:
                by_class = count_one_vs_rest(workspace, request.model, assignment)
                curves.update(zip(assignment.names, by_class.swapaxes(0, 1), strict=True))
        response.matrices = np.concatenate([matrices[name] for name in response.slices]).reshape(-1)
        if has_curves:
            by_slice = np.array([curves[name] for name in response.slices])
            response.class_tp = by_slice[:, 0].reshape(-1)
            response.class_fp = by_slice[:, 1].reshape(-1)
        return
    parts = [count_binary(workspace, request.model, c, buckets) for c in groups]
    by_name = {}
    for assignment, counts in parts:
        for at, name in enumerate(assignment.names):
            by_name[name] = (counts.tp[at], counts.fp[at], counts.tn[at], counts.fn[at])
    rows = [by_name[name] for name in response.slices]
    response.thresholds = THRESHOLDS
    response.tp, response.fp, response.tn, response.fn = (
        np.concatenate([row[number] for row in rows]) for number in range(4)
    )
    _add_calibration(workspace, request, buckets, response, groups)


def _add_calibration(
    workspace: Workspace,
    request: PerformanceRequest,
    buckets: Mapping[str, Buckets],
    response: PerformanceResponse,
    groups: Sequence[Sequence[str]],
) -> None:
    labels, scores = get_labels_and_scores(workspace, request.model)
    positive = scores[:, 1]
    used = (labels >= 0) & np.isfinite(positive) & workspace.is_active
    bucket, *_ = calibration_sums(labels[used], positive[used])
    sums: dict[str, list[Float64]] = {}
    for columns in groups:
        assignment = assign_slices(workspace.table, columns, buckets)
        codes = assignment.codes[used]
        inside = codes >= 0
        flat = codes[inside] * CALIBRATION_BUCKETS + bucket[inside]
        size = len(assignment.names) * CALIBRATION_BUCKETS
        factors = (np.ones(int(inside.sum())), positive[used][inside], labels[used][inside])
        totals = [
            np.bincount(flat, factor, minlength=size).reshape(-1, CALIBRATION_BUCKETS)
            for factor in factors
        ]
        for at, name in enumerate(assignment.names):
            sums[name] = [total[at] for total in totals]
    rows = [sums[name] for name in response.slices]
    weight = np.concatenate([row[0] for row in rows])
    response.calibration_count = weight
    response.calibration_score = divide(np.concatenate([row[1] for row in rows]), weight)
    response.calibration_share = divide(np.concatenate([row[2] for row in rows]), weight)


def make_optimize_response(workspace: Workspace, request: OptimizeRequest) -> OptimizeResponse:
    """Choose thresholds by a strategy."""
    if not request.slice_by and request.strategy != "single":
        raise UsageError(
            "what_if.needs_slices",
            'the strategy "{strategy}" needs slices; choose a column',
            strategy=request.strategy,
        )
    workspace = _with_computed_columns(workspace, request)
    buckets = _resolve_buckets(workspace, request)
    assignment, counts = count_binary(
        workspace, request.model, request.slice_by, buckets, drop_empty=True
    )
    choice = choose_thresholds(
        counts,
        request.strategy,
        cost_ratio=request.cost_ratio,
        measure=request.measure,
        max_gap=request.max_gap,
    )
    return OptimizeResponse(
        list(assignment.names),
        choice.thresholds,
        choice.is_defined.tolist(),
        choice.cost,
        choice.single_cost,
        None if np.isnan(choice.gap) else choice.gap,
        dict(choice.measures),
    )


def make_frontier_response(workspace: Workspace, request: FrontierRequest) -> FrontierResponse:
    """Return what a smaller gap between slices costs."""
    if not request.slice_by:
        raise UsageError("what_if.frontier_slices", "a frontier needs slices; choose a column")
    workspace = _with_computed_columns(workspace, request)
    buckets = _resolve_buckets(workspace, request)
    assignment, counts = count_binary(
        workspace, request.model, request.slice_by, buckets, drop_empty=True
    )
    choices = compute_frontier(counts, request.measure, cost_ratio=request.cost_ratio)
    thresholds = [choice.thresholds for choice in choices]
    return FrontierResponse(
        list(assignment.names),
        np.array([choice.gap for choice in choices], np.float64),
        np.array([choice.cost for choice in choices], np.float64),
        np.concatenate(thresholds) if thresholds else NO_VALUES,
    )


# ---- features


def make_statistics_response(
    workspace: Workspace, others: Mapping[str, Workspace] | None = None
) -> FeatureStatisticsResponse:
    """Return statistics of all columns, and the drift to other data sets, by session."""
    rows = []
    for name in workspace.table.names:  # one by one: deleted rows need copies of columns
        table = _select_active(workspace, name)
        (found,) = compute_statistics(table, [name])
        row = _make_statistics_row(found, table.get_column(name))
        if others:
            tables = {
                key: _select_active(item, name)
                for key, item in others.items()
                if name in item.table
            }
            _add_others(row, table, tables)
        rows.append(row)
    return FeatureStatisticsResponse(workspace.version, rows)


def _select_active(workspace: Workspace, name: str) -> DataTable:
    """Return one column without deleted rows."""
    return DataTable([workspace.get_active_column(name)])


def _make_statistics_row(statistics: FeatureStatistics, column: DataColumn) -> StatisticsRow:
    return StatisticsRow(
        name=statistics.name,
        type=statistics.type,
        is_list=statistics.is_list,
        outliers=statistics.outliers,
        top_count=statistics.top_count,
        mean_length=statistics.mean_length,
        non_uniformity=statistics.non_uniformity,
        warnings=statistics.warnings,
        edges=statistics.edges,
        values=[value[:_MAX_TEXT] for value in statistics.values],
        length_edges=statistics.length_edges,
        length_histogram=statistics.length_histogram,
        list_length=column.find_list_length() if column.is_list else None,
        **_get_shared_fields(statistics),
    )


def _get_shared_fields(statistics: FeatureStatistics) -> dict[str, Any]:
    """Return the fields of `ColumnStatistics`."""
    fields = {name: getattr(statistics, name) for name in ColumnStatistics.__struct_fields__}
    return {**fields, "top": statistics.top[:_MAX_TEXT]}


def _add_others(row: StatisticsRow, table: DataTable, others: Mapping[str, DataTable]) -> None:
    """Add the column of other data sets, unless it is of another kind there."""
    own = table.get_column(row.name)
    shared = {
        key: other
        for key, other in others.items()
        if other.get_column(row.name).is_numeric == own.is_numeric
    }
    if not shared:
        return
    joint = make_joint_histogram([own, *(item.get_column(row.name) for item in shared.values())])
    row.edges, row.values = joint.edges, [text[:_MAX_TEXT] for text in joint.values]
    row.histogram = joint.histograms[0]
    for (key, other), histogram in zip(shared.items(), joint.histograms[1:], strict=True):
        (drift,) = compute_drift(table, other, [row.name])
        (found,) = compute_statistics(other, [row.name])
        row.others.append(
            OtherStatistics(
                session=key,
                jensen_shannon=drift.jensen_shannon,
                population_stability=drift.population_stability,
                chi_square=drift.chi_square,
                kolmogorov_smirnov=drift.kolmogorov_smirnov,
                **{**_get_shared_fields(found), "histogram": histogram},
            )
        )


# ---- export


def make_export(workspace: Workspace, request: DataExportRequest, title: str) -> Stream:
    """Return all rows with edits and current predictions as a file."""
    columns = list(workspace.table.columns.values())
    thresholds = dict(zip(request.models, request.thresholds, strict=True))
    for predictor in workspace.models:
        if workspace.is_predicted(predictor.name):
            taken = {column.name for column in columns}
            threshold = thresholds.get(predictor.name, DEFAULT_THRESHOLD)
            limits = make_row_thresholds(
                workspace, predictor.name, threshold, request.slice_thresholds
            )
            computed = _make_computed_columns(workspace, predictor, limits)
            columns += [column for column in computed if column.name not in taken]
    parts = _iter_parts(DataTable(columns), np.flatnonzero(workspace.is_active))
    stem = title.partition(".")[0].replace("*", "") or "data"
    if request.format == "jsonl":
        return Stream(_iter_json_lines(parts), "application/jsonl", f"{stem}.jsonl")
    return Stream(_iter_csv(parts), "text/csv", f"{stem}.csv")


def _iter_parts(table: DataTable, rows: Int64) -> Iterator[DataTable]:
    """Yield some rows in tables of limited size, at least one."""
    for start in range(0, max(len(rows), 1), _EXPORT_ROWS):
        yield table.take(rows[start : start + _EXPORT_ROWS])


def _iter_json_lines(parts: Iterable[DataTable]) -> Iterator[bytes]:
    import msgspec

    for part in parts:
        yield b"".join(msgspec.json.encode(row) + b"\n" for row in part.to_rows())


def _iter_csv(parts: Iterable[DataTable]) -> Iterator[bytes]:
    import csv

    for number, part in enumerate(parts):
        text = io.StringIO()
        writer = csv.writer(text)
        if not number:
            writer.writerow(part.names)
        for row in part.to_rows():
            writer.writerow([_to_cell(value) for value in row.values()])
        yield text.getvalue().encode()


def _to_cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, list):
        return "|".join(str(_to_cell(item)) for item in value)
    return value
