"""Build the responses of the Fairness dashboard from evaluations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tracklight.analysis.evaluation import EvaluationPlots, metrics
from tracklight.analysis.evaluation.metrics import get_direction
from tracklight.analysis.evaluation.report import StoredEvaluation, rank_gaps
from tracklight.analysis.evaluation.results import (
    Difference,
    EvaluationResult,
    compute_difference,
)
from tracklight.analysis.evaluation.slices import format_slice
from tracklight.analysis.fairness import make_conditions
from tracklight.analysis.fairness.tfma_folder import ModelEvaluation, Validation
from tracklight.analysis.source import Sentence
from tracklight.dashboards.fairness.schemas import (
    AttributionRow,
    ColumnRow,
    ConfusionRow,
    DifferenceRequest,
    DifferenceResponse,
    FailureRow,
    GapRow,
    ModelRow,
    PlotRow,
    PlotsRequest,
    PlotsResponse,
    ResultResponse,
    SliceDatapointsResponse,
    ValidationRow,
)
from tracklight.errors import Message, TracklightError, UsageError
from tracklight.logdir.access import DataFiles
from tracklight.plugin import to_json_number

_MAX_ATTRIBUTIONS = 20_000


def find_model(models: Sequence[ModelEvaluation], name: str | None) -> ModelEvaluation:
    """Return the model of that name; the first one by default.

    Raises:
        UsageError: There is no such model.
    """
    for model in models:
        if name is None or model.stored.model == name:
            return model
    known = ", ".join(f'"{model.stored.model}"' for model in models)
    raise UsageError(
        "fairness.no_model",
        'no model "{model}" in this evaluation; it has {known}',
        model=name,
        known=known,
    )


def make_result(
    id_: str,
    models: Sequence[ModelEvaluation],
    name: str | None,
    columns: list[int] | None = None,
    *,
    with_replicates: bool = False,
) -> ResultResponse:
    """Return all values of one model.

    Raises:
        UsageError: There is no such model or column.
    """
    model = find_model(models, name)
    stored = model.stored
    result = select_columns(stored.result, columns)
    plots = stored.plots
    return ResultResponse(
        id=id_,
        model=stored.model,
        models=[ModelRow(item.stored.model, item.is_baseline) for item in models],
        task=stored.task,
        slices=result.slice_names,
        keys=[list(key) for key in result.slices],
        counts=result.counts,
        columns=[
            ColumnRow(column.metric, column.threshold, column.output, get_direction(column.metric))
            for column in result.columns
        ],
        value=result.value.ravel(),
        lower=result.lower.ravel(),
        upper=result.upper.ravel(),
        method=result.resampling.method,
        samples=result.resampling.samples,
        confidence=result.resampling.confidence,
        has_replicates=result.replicates is not None,
        replicates=(
            result.replicates.ravel() if with_replicates and result.replicates is not None else None
        ),
        plot_slices=np.zeros(0, np.int64) if plots is None else plots.rows,
        outputs=[] if plots is None else list(plots.outputs),
        warnings=[Sentence.make(message) for message in result.warnings],
        omitted=[format_slice(key) for key in result.omitted],
        problems=[Sentence.make(message) for message in model.problems],
        validation=_make_validation(model.validation),
        attributions=[
            AttributionRow(item.slice, item.metric, item.feature, to_json_number(item.value))
            for item in model.attributions[:_MAX_ATTRIBUTIONS]
        ],
        columns_used=stored.columns_used,
    )


def select_columns(result: EvaluationResult, columns: list[int] | None) -> EvaluationResult:
    """Return a result with some columns.

    Raises:
        UsageError: A position is out of range.
    """
    if columns is None:
        return result
    for column in columns:
        if not 0 <= column < len(result.columns):
            raise UsageError(
                "fairness.no_column", "there is no metric column {column}", column=column
            )
    return result.select(columns=columns)


def _make_validation(validation: Validation | None) -> ValidationRow | None:
    if validation is None:
        return None
    return ValidationRow(
        ok=validation.is_ok,
        failures=[
            FailureRow(
                item.slice, item.metric, to_json_number(item.value), item.bounds, item.message
            )
            for item in validation.failures
        ],
        missing_slices=list(validation.missing_slices),
        has_no_thresholds=validation.has_no_thresholds,
        is_rubber_stamped=validation.is_rubber_stamped,
        checked_slices=validation.checked_slices,
    )


def make_difference(
    request: DifferenceRequest, result: EvaluationResult, other: EvaluationResult | None
) -> DifferenceResponse:
    """Return differences to a baseline slice, or to another evaluation.

    Raises:
        UsageError: There is no such slice or column, or nothing in common.
    """
    chosen = select_columns(result, request.columns)
    columns = list(range(len(result.columns))) if request.columns is None else request.columns
    if other is None:
        difference = chosen.difference(request.baseline, request.correction)
        baseline = np.broadcast_to(chosen.value[difference.baseline], chosen.value.shape)
    else:
        difference, baseline = _compare(chosen, other, request)
    return DifferenceResponse(
        slices=chosen.slice_names,
        columns=columns,
        baseline_value=baseline.ravel(),
        difference=difference.absolute.ravel(),
        lower=difference.lower.ravel(),
        upper=difference.upper.ravel(),
        relative=difference.relative.ravel(),
        relative_lower=difference.relative_lower.ravel(),
        relative_upper=difference.relative_upper.ravel(),
        p_value=difference.p_value.ravel(),
        adjusted_p_value=difference.adjusted_p_value.ravel(),
        comparisons=int(np.isfinite(difference.p_value).sum()),
        gaps=[
            GapRow(gap.slice_at, gap.column_at, gap.difference, gap.is_significant)
            for gap in rank_gaps(difference, limit=request.max_gaps)
        ],
    )


def _compare(
    result: EvaluationResult, other: EvaluationResult, request: DifferenceRequest
) -> tuple[Difference, np.ndarray[tuple[int, ...], np.dtype[np.float64]]]:
    """Return the differences to the same slices and columns of another evaluation."""
    rows = {name: at for at, name in enumerate(other.slice_names)}
    columns = {column: at for at, column in enumerate(other.columns)}
    shape = result.value.shape
    value, lower, upper = (np.full(shape, np.nan) for _ in range(3))
    row_at = np.array([rows.get(name, -1) for name in result.slice_names], np.int64)
    column_at = np.array([columns.get(column, -1) for column in result.columns], np.int64)
    here = np.ix_(row_at >= 0, column_at >= 0)
    there = np.ix_(row_at[row_at >= 0], column_at[column_at >= 0])
    if not (row_at >= 0).any() or not (column_at >= 0).any():
        raise UsageError(
            "fairness.nothing_in_common",
            "the two evaluations have no slice and metric in common",
        )
    for target, source in ((value, other.value), (lower, other.lower), (upper, other.upper)):
        target[here] = source[there]
    # Replicates of two evaluations are not paired, so the intervals are combined.
    difference = compute_difference(result, value, (lower, upper, None), request.correction)
    return difference, value


def make_datapoints(
    stored: StoredEvaluation, slice_name: str, files: DataFiles
) -> SliceDatapointsResponse:
    """Return where What-If finds the rows of a slice, or why it cannot.

    Raises:
        UsageError: There is no such slice.
    """
    key = stored.result.slices[stored.result.get_slice(slice_name)]
    used = stored.columns_used
    conditions = make_conditions(key, stored.where, stored.bucket_edges)
    problem: Message | None = None
    if not stored.data_path:
        problem = Message(
            "fairness.no_data_path",
            "The evaluation does not name a file with its rows, so What-If cannot show them. "
            "Pass data_path to write().",
        )
    elif conditions is None:
        problem = Message(
            "fairness.no_conditions",
            "What-If cannot apply the filter of this slice; it supports comparisons joined "
            'with "and".',
        )
    else:
        try:
            files.check_exists(stored.data_path)
        except TracklightError as error:
            problem = Message.format(
                "fairness.no_data", "What-If cannot show the rows: {error}.", error=error
            )
    return SliceDatapointsResponse(
        path=stored.data_path,
        label=used.get("label", ""),
        prediction=[name for name in used.get("prediction", "").split(", ") if name],
        task=stored.task,
        conditions=conditions or [],
        problem=None if problem is None else Sentence.make(problem),
    )


def make_plots(model: ModelEvaluation, request: PlotsRequest) -> PlotsResponse:
    """Return the curves of some slices.

    Raises:
        UsageError: There is no such slice or output.
    """
    plots, result = model.stored.plots, model.stored.result
    for at in request.slices:
        if not 0 <= at < len(result.slices):
            raise UsageError("fairness.no_slice_at", "there is no slice {position}", position=at)
    if plots is None:
        return PlotsResponse([], [], list(request.slices), exact=False)
    outputs = [
        (at, name)
        for at, name in enumerate(plots.outputs)
        if request.output is None or name == request.output
    ]
    if not outputs:
        raise UsageError(
            "fairness.no_output", 'there is no output "{output}"', output=request.output
        )
    response = PlotsResponse([], [], [], exact=plots.is_exact)
    for slice_at in request.slices:
        row = plots.find_row(slice_at)
        if row is None:
            response.missing.append(slice_at)
            continue
        for output_at, name in outputs:
            if plots.counts[output_at, row].any():
                response.plots.append(
                    _make_plot(plots, slice_at, row, output_at, name, request.buckets)
                )
        if plots.confusion.size:
            weight = plots.confusion[row].ravel()
            response.confusion.append(ConfusionRow(slice_at, list(plots.outputs), weight))
    return response


def _make_plot(
    plots: EvaluationPlots, slice_at: int, row: int, output_at: int, name: str, buckets: int
) -> PlotRow:
    counts = plots.counts[output_at, row]
    roc = metrics.roc_curve(counts, plots.edges)
    pr = metrics.precision_recall_curve(counts, plots.edges)
    calibration = metrics.calibration_curve(plots.calibration[output_at, row], buckets)
    distribution = metrics.score_distribution(counts, plots.edges)
    return PlotRow(
        slice=slice_at,
        output=name,
        roc_threshold=roc.threshold,
        false_positive_rate=roc.false_positive_rate,
        true_positive_rate=roc.true_positive_rate,
        pr_threshold=pr.threshold,
        precision=pr.precision,
        recall=pr.recall,
        calibration_edges=calibration.edges,
        mean_score=calibration.mean_score,
        positive_share=calibration.positive_share,
        calibration_weight=calibration.weight,
        distribution_edges=distribution.edges,
        negative=distribution.negative,
        positive=distribution.positive,
    )
