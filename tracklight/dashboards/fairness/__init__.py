"""The Fairness dashboard: metrics per slice of logged evaluations and of TFMA folders.

`Fairness` declares the routes, and writes results as CSV, JSON, Markdown and static exports.
`schemas` has the requests and responses, which `responses` builds from evaluations.

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

from tracklight.analysis.evaluation.report import PLUGIN_NAME, StoredEvaluation, format_report
from tracklight.analysis.evaluation.results import EvaluationResult
from tracklight.analysis.fairness import (
    TFMA_PLUGIN,
    EvaluationEntry,
    EvaluationLibrary,
)
from tracklight.analysis.fairness.tfma_folder import ModelEvaluation
from tracklight.dashboards.fairness.responses import (
    find_model,
    make_datapoints,
    make_difference,
    make_plots,
    make_result,
)
from tracklight.dashboards.fairness.schemas import (
    DifferenceRequest,
    DifferenceResponse,
    EvaluationRow,
    EvaluationsRequest,
    EvaluationsResponse,
    FairnessExportFormat,
    FairnessExportRequest,
    FairnessHistoryRequest,
    FairnessHistoryResponse,
    HistorySeries,
    PlotsRequest,
    PlotsResponse,
    ResultRequest,
    ResultResponse,
    SliceDatapointsRequest,
    SliceDatapointsResponse,
)
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
        return make_plots(find_model(models, request.model), request)

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
        stored = find_model(self._library.load(entry), request.model).stored
        response = make_datapoints(stored, request.slice, self._data_files)
        if entry.kind != "logged":
            response.prediction = []  # TFMA calls a model; its data has no predictions
        return response

    def export(self, request: FairnessExportRequest) -> Blob:
        """Return a result as CSV or JSON, or as a section of a model card in Markdown."""
        models = self._library.load(self._library.get_entry(request.id))
        stored = find_model(models, request.model).stored
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
        return find_model(models, model).stored.result

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
