"""The Fairness dashboard: metrics per slice of logged evaluations and of TFMA folders.

`Fairness` declares the routes, and writes results as CSV, JSON, Markdown and static exports.
`schemas` has the requests and responses.

Uses `tracklight.plugin`, `tracklight.analysis.fairness` (the evaluations of a log) and
`tracklight.analysis.evaluation` (metrics, differences, curves).
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from tracklight.analysis.evaluation import EvaluationPlots, metrics
from tracklight.analysis.evaluation.metrics import get_direction
from tracklight.analysis.evaluation.report import (
    PLUGIN_NAME,
    StoredEvaluation,
    format_report,
    rank_gaps,
)
from tracklight.analysis.evaluation.results import (
    Difference,
    EvaluationResult,
    compute_difference,
)
from tracklight.analysis.evaluation.slices import format_slice
from tracklight.analysis.fairness import (
    TFMA_PLUGIN,
    EvaluationEntry,
    EvaluationLibrary,
    make_conditions,
)
from tracklight.analysis.fairness.tfma_folder import ModelEvaluation, Validation
from tracklight.analysis.source import Sentence
from tracklight.dashboards.fairness.schemas import (
    AttributionRow,
    ColumnRow,
    ConfusionRow,
    DifferenceRequest,
    DifferenceResponse,
    EvaluationRow,
    EvaluationsRequest,
    EvaluationsResponse,
    FailureRow,
    FairnessExportFormat,
    FairnessExportRequest,
    FairnessHistoryRequest,
    FairnessHistoryResponse,
    GapRow,
    HistorySeries,
    ModelRow,
    PlotRow,
    PlotsRequest,
    PlotsResponse,
    ResultRequest,
    ResultResponse,
    SliceDatapointsRequest,
    SliceDatapointsResponse,
    ValidationRow,
)
from tracklight.errors import Message, UsageError
from tracklight.logdir.access import DataFiles
from tracklight.plugin import (
    Blob,
    Context,
    Dashboard,
    ExportPart,
    Problem,
    Route,
    TracklightError,
    encode_uri_component,
    to_json_number,
)

# ---- files

_HEADER = (
    *("slice", "metric", "threshold", "output", "value", "lower", "upper", "count"),
    *("baseline", "difference", "difference_lower", "difference_upper", "adjusted_p_value"),
)


def write_result(stored: StoredEvaluation, format_: FairnessExportFormat, baseline: str) -> Blob:
    """Return a result as a file.

    Raises:
        UsageError: There is no such baseline slice.
    """
    name = re.sub(r"[^\w.-]+", "_", f"fairness_{stored.model}".rstrip("_"))
    if format_ == "markdown":
        text = format_report(stored, baseline)
        return Blob(text.encode("utf-8", "backslashreplace"), "text/markdown", f"{name}.md")
    rows = list(_iter_rows(stored, baseline))
    if format_ == "json":
        records = [
            {
                key: to_json_number(value) if isinstance(value, float) else value
                for key, value in zip(_HEADER, row, strict=True)
            }
            for row in rows
        ]
        return Blob(msgspec.json.encode(records), "application/json", f"{name}.json")
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(_HEADER)
    for row in rows:
        writer.writerow([_format_cell(value) for value in row])
    content = buffer.getvalue().encode("utf-8", "backslashreplace")
    return Blob(content, "text/csv", f"{name}.csv")


def _iter_rows(stored: StoredEvaluation, baseline: str) -> Iterator[tuple[object, ...]]:
    result = stored.result
    difference = result.difference(baseline)
    base = result.value[difference.baseline]
    for row, name in enumerate(result.slice_names):
        for at, column in enumerate(result.columns):
            yield (
                name,
                column.metric,
                column.threshold,
                column.output,
                float(result.value[row, at]),
                float(result.lower[row, at]),
                float(result.upper[row, at]),
                int(result.counts[row]),
                float(base[at]),
                float(difference.absolute[row, at]),
                float(difference.lower[row, at]),
                float(difference.upper[row, at]),
                float(difference.adjusted_p_value[row, at]),
            )


def _format_cell(value: object) -> object:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return f"'{value}"  # Spreadsheets would run it as a formula.
    return value


#: Limit on the steps of a history; more are thinned evenly.
MAX_HISTORY_STEPS = 200

_MAX_EXPORTED = 50
_MAX_EXPORTED_PLOTS = 32
#: Limit on the replicates in a static export, from which the page computes differences.
_MAX_EXPORTED_REPLICATES = 1_000_000


class Fairness(Dashboard):
    """Metrics per slice with intervals, differences, curves, and their history."""

    name = "fairness"
    title = "Fairness"
    plugins = (PLUGIN_NAME, TFMA_PLUGIN)
    files = ("evaluation_files",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._library = EvaluationLibrary(context.log)
        self._data_files = DataFiles(
            [root.path for root in context.log.roots], context.access.data_dirs
        )

    def routes(self) -> Sequence[Route]:
        return [
            Route("evaluations", EvaluationsRequest, self.evaluations),
            Route("evaluations", EvaluationsRequest, self.evaluations, "GET"),
            Route("result", ResultRequest, self.result),
            Route("result", ResultRequest, self.result, "GET"),
            Route("difference", DifferenceRequest, self.difference),
            Route("plots", PlotsRequest, self.plots),
            Route("history", FairnessHistoryRequest, self.history),
            Route("datapoints", SliceDatapointsRequest, self.datapoints, "GET"),
            Route("export", FairnessExportRequest, self.export, "GET"),
        ]

    def evaluations(self, request: EvaluationsRequest) -> EvaluationsResponse:
        """Return the evaluations of the log, without reading them."""
        cursor = self.context.cursor()
        entries = self._library.list_entries(request.runs)
        return EvaluationsResponse(cursor, [_make_row(entry) for entry in entries])

    def result(self, request: ResultRequest) -> ResultResponse:
        """Return slices, metrics and values with intervals of one model of an evaluation."""
        models = self._library.load(self._library.get_entry(request.id))
        return make_result(
            request.id,
            models,
            request.model,
            request.columns,
            with_replicates=request.replicates,
        )

    def difference(self, request: DifferenceRequest) -> DifferenceResponse:
        """Return differences to a baseline slice or another evaluation, and the largest gaps."""
        result = self._load(request.id, request.model)
        other = None
        if request.other is not None:
            other = self._load(request.other, request.other_model)
        return make_difference(request, result, other)

    def plots(self, request: PlotsRequest) -> PlotsResponse:
        """Return ROC, PR and calibration curves, score distributions and confusion matrices."""
        models = self._library.load(self._library.get_entry(request.id))
        return make_plots(get_model(models, request.model), request)

    def history(self, request: FairnessHistoryRequest) -> FairnessHistoryResponse:
        """Return a metric of some slices at each step."""
        cursor = self.context.cursor()
        entries = [
            entry
            for entry in self._library.list_entries([request.run])
            if (entry.run, entry.tag) == (request.run, request.tag) and entry.step is not None
        ]
        if len(entries) > MAX_HISTORY_STEPS:
            at = np.linspace(0, len(entries) - 1, MAX_HISTORY_STEPS).round().astype(int)
            entries = [entries[number] for number in at]
        return self._make_history(cursor, request, entries)

    def datapoints(self, request: SliceDatapointsRequest) -> SliceDatapointsResponse:
        """Return the file and the conditions by which What-If shows the rows of a slice."""
        entry = self._library.get_entry(request.id)
        stored = get_model(self._library.load(entry), request.model).stored
        response = make_datapoints(stored, request.slice, self._data_files)
        if entry.kind != "logged":
            response.prediction = []  # TFMA calls a model; its data has no predictions
        return response

    def export(self, request: FairnessExportRequest) -> Blob:
        """Return a result as CSV or JSON, or as a section of a model card in Markdown."""
        models = self._library.load(self._library.get_entry(request.id))
        stored = get_model(models, request.model).stored
        return write_result(stored, request.format, request.baseline)

    def export_static(self, runs: Sequence[str]) -> Iterator[ExportPart]:
        """Yield the last evaluations of the runs with their results and plots."""
        entries = self._library.list_entries(runs)[-_MAX_EXPORTED:]
        if not entries:
            return
        exported = []
        space = _MAX_EXPORTED_REPLICATES
        for entry in reversed(entries):
            try:
                models = self._library.load(entry)
            except TracklightError:
                continue
            exported.append(entry)
            for number, model in enumerate(models):
                # The page names a model only if it is not the first one.
                name = model.stored.model
                query = f"id={entry.id}" + (
                    f"&model={encode_uri_component(name)}" if number else ""
                )
                replicates = model.stored.result.replicates
                count = 0 if replicates is None else replicates.size
                fits = count <= space
                space -= count if fits else 0
                response = make_result(entry.id, models, name, with_replicates=fits)
                yield f"result?{query}", response
                if not fits:
                    yield from _export_difference(query, entry.id, model)
                yield from _export_plots(query, entry.id, model)
        rows = [_make_row(entry) for entry in reversed(exported)]
        yield "evaluations", EvaluationsResponse(self.context.cursor(), rows)

    def _load(self, id_: str, model: str | None) -> EvaluationResult:
        models = self._library.load(self._library.get_entry(id_))
        return get_model(models, model).stored.result

    def _make_history(
        self, cursor: str, request: FairnessHistoryRequest, entries: Sequence[EvaluationEntry]
    ) -> FairnessHistoryResponse:
        shape = (len(request.slices), len(entries))
        value, lower, upper = (np.full(shape, np.nan) for _ in range(3))
        count = np.zeros(shape, np.int64)
        problems: list[Problem] = []
        for step, entry in enumerate(entries):
            try:
                result = self._library.load(entry)[0].stored.result
                column = result.get_column(request.metric, request.threshold, request.output)
            except TracklightError as error:
                problems.append(self.context.describe_error(error))
                continue
            for at, name in enumerate(request.slices):
                row = result.find_slice(name)
                if row is not None:
                    value[at, step] = result.value[row, column]
                    lower[at, step] = result.lower[row, column]
                    upper[at, step] = result.upper[row, column]
                    count[at, step] = result.counts[row]
        return FairnessHistoryResponse(
            cursor=cursor,
            steps=np.array([entry.step for entry in entries], np.int64),
            wall_time=np.array([entry.wall_time for entry in entries], np.float64),
            ids=[entry.id for entry in entries],
            series=[
                HistorySeries(name, value[at], lower[at], upper[at], count[at])
                for at, name in enumerate(request.slices)
            ],
            problems=problems[:10],
        )


def _export_difference(query: str, id_: str, model: ModelEvaluation) -> Iterator[ExportPart]:
    """Yield the differences to the baseline that the page starts with."""
    result = model.stored.result
    if result.slice_names:
        baseline = "Overall" if "Overall" in result.slice_names else result.slice_names[0]
        request = DifferenceRequest(id_, baseline=baseline, max_gaps=0)
        yield f"difference?{query}", make_difference(request, result, None)


def _export_plots(query: str, id_: str, model: ModelEvaluation) -> Iterator[ExportPart]:
    if model.stored.plots is not None:
        rows = model.stored.plots.rows[:_MAX_EXPORTED_PLOTS].tolist()
        yield f"plots?{query}", make_plots(model, PlotsRequest(id_, rows))


def _make_row(entry: EvaluationEntry) -> EvaluationRow:
    return EvaluationRow(
        entry.id, entry.run, entry.tag, entry.step, entry.wall_time, entry.kind, entry.version
    )


_MAX_ATTRIBUTIONS = 20_000


def get_model(models: Sequence[ModelEvaluation], name: str | None) -> ModelEvaluation:
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
    model = get_model(models, name)
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
