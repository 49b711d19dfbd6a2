"""Results for event files, and as Markdown for a model card.

An encoded result is a list of byte strings, the first of which is a JSON header. The header has
slices, metric columns and the names, types and shapes of the arrays that follow, each compressed
with zlib. Decoding trusts nothing: sizes are checked before memory is allocated.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.evaluation import EvaluationPlots
from tracklight.analysis.evaluation.metrics import CALIBRATION_BUCKETS, get_direction, is_count
from tracklight.analysis.evaluation.models import Task
from tracklight.analysis.evaluation.resampling import IntervalMethod, Resampling
from tracklight.analysis.evaluation.results import Difference, EvaluationResult, MetricColumn
from tracklight.errors import FormatError, Message, UsageError

# ---- encoding

#: Name of the plugin to which the values belong.
PLUGIN_NAME = "tracklight_fairness"

_VERSION = 1
_MAX_ARRAY_BYTES = 512 << 20
_DTYPES = {"<f8", "<f4", "<i8"}

#: Replicates are stored up to this size; without them, differences are less precise.
MAX_REPLICATE_BYTES = 8 << 20


@dataclass(frozen=True, eq=False)
class StoredEvaluation:
    """A result in the form in which event files store it."""

    result: EvaluationResult
    plots: EvaluationPlots | None = None
    task: Task = "binary"
    model: str = ""
    """Name of the model; empty if there is only one."""
    columns_used: dict[str, str] = field(default_factory=dict)
    """Names of the columns for label, prediction and weight, for reports."""
    data_path: str = ""
    """The file with the rows, or a pattern with ``*``; empty if it is not known."""
    where: str = ""
    """The filter that all rows match."""
    bucket_edges: dict[str, list[list[float]]] = field(default_factory=dict)
    """The edges of the bucket rules of each column."""


class ArrayHeader(msgspec.Struct):
    name: str
    dtype: str
    shape: list[int]


class StoredMessage(msgspec.Struct, array_like=True):
    code: str
    text: str
    args: dict[str, str | int | float | StoredMessage] = {}

    @classmethod
    def make(cls, message: Message) -> StoredMessage:
        args = {
            name: cls.make(value) if isinstance(value, Message) else value
            for name, value in message.args.items()
        }
        return cls(message.code, message.text, args)

    def to_message(self) -> Message:
        args = {
            name: value.to_message() if isinstance(value, StoredMessage) else value
            for name, value in self.args.items()
        }
        return Message(self.code, self.text, args)


class Header(msgspec.Struct):
    version: int
    task: str
    model: str
    slices: list[list[tuple[str, str]]]
    columns: list[tuple[str, float | None, str | None]]
    method: str
    samples: int
    confidence: float
    seed: int
    arrays: list[ArrayHeader]
    warnings: list[StoredMessage] = []
    omitted: list[list[tuple[str, str]]] = []
    outputs: list[str] = []
    exact_curves: bool = False
    columns_used: dict[str, str] = {}
    data_path: str = ""
    where: str = ""
    bucket_edges: dict[str, list[list[float]]] = {}


def encode_evaluation(stored: StoredEvaluation) -> list[bytes]:
    """Return the parts of a result, for a string tensor."""
    result, plots = stored.result, stored.plots
    arrays: dict[str, NDArray[Any]] = {
        "counts": result.counts.astype("<i8"),
        "value": result.value.astype("<f8"),
        "lower": result.lower.astype("<f8"),
        "upper": result.upper.astype("<f8"),
    }
    if result.replicates is not None and result.replicates.size * 4 <= MAX_REPLICATE_BYTES:
        # Deviations in float32 are more precise than values in float32.
        arrays["replicates"] = (result.replicates - result.value).astype("<f4")
    if plots is not None:
        arrays |= {
            "plot_rows": plots.rows.astype("<i8"),
            "plot_edges": plots.edges.astype("<f8"),
            "plot_counts": plots.counts.astype("<f8"),
            "plot_calibration": plots.calibration.astype("<f8"),
            "plot_confusion": plots.confusion.astype("<f8"),
        }
    header = Header(
        version=_VERSION,
        task=stored.task,
        model=stored.model,
        slices=[list(key) for key in result.slices],
        columns=[(column.metric, column.threshold, column.output) for column in result.columns],
        method=result.resampling.method,
        samples=result.resampling.samples,
        confidence=result.resampling.confidence,
        seed=result.resampling.seed,
        arrays=[
            ArrayHeader(name, array.dtype.str, list(array.shape)) for name, array in arrays.items()
        ],
        warnings=[StoredMessage.make(warning) for warning in result.warnings],
        omitted=[list(key) for key in result.omitted],
        outputs=list(plots.outputs) if plots else [],
        exact_curves=plots.is_exact if plots else False,
        columns_used=stored.columns_used,
        data_path=stored.data_path,
        where=stored.where,
        bucket_edges=stored.bucket_edges,
    )
    return [
        msgspec.json.encode(header),
        *(zlib.compress(np.ascontiguousarray(array).tobytes(), 3) for array in arrays.values()),
    ]


def decode_evaluation(parts: Sequence[bytes]) -> StoredEvaluation:
    """Return the result in the parts of a string tensor.

    Raises:
        FormatError: The parts are no result, or one of a newer version.
    """
    if not parts:
        raise FormatError("fairness.empty", "the evaluation is empty")
    try:
        header = msgspec.json.decode(parts[0], type=Header)
    except msgspec.DecodeError as error:
        raise FormatError(
            "fairness.invalid_header",
            "the header of the evaluation is invalid: {error}",
            error=error,
        ) from None
    if header.version > _VERSION:
        raise FormatError(
            "fairness.newer", "the evaluation was written by a newer version of tracklight"
        )
    if len(header.arrays) != len(parts) - 1:
        raise FormatError("fairness.incomplete", "the evaluation is incomplete")
    arrays = {
        spec.name: _decode_array(spec, data)
        for spec, data in zip(header.arrays, parts[1:], strict=True)
    }
    shape = (len(header.slices), len(header.columns))
    value = _get(arrays, "value", shape)
    try:
        resampling = Resampling(_as_method(header.method), header.samples, header.confidence)
    except UsageError as error:
        raise FormatError(
            "fairness.invalid", "the evaluation is invalid: {error}", error=error
        ) from None
    replicates = None
    if "replicates" in arrays:
        replicates = _get(arrays, "replicates", (resampling.samples, *shape)) + value
    result = EvaluationResult(
        slices=[tuple(key) for key in header.slices],
        columns=[MetricColumn(*column) for column in header.columns],
        counts=_get(arrays, "counts", shape[:1]).astype(np.int64),
        value=value,
        lower=_get(arrays, "lower", shape),
        upper=_get(arrays, "upper", shape),
        resampling=resampling,
        replicates=replicates,
        warnings=tuple([warning.to_message() for warning in header.warnings]),
        omitted=tuple(tuple(key) for key in header.omitted),
    )
    task: Task = "binary"
    if header.task in ("multiclass", "regression"):
        task = "multiclass" if header.task == "multiclass" else "regression"
    plots = _decode_plots(header, arrays) if "plot_counts" in arrays else None
    return StoredEvaluation(
        result,
        plots,
        task,
        header.model,
        header.columns_used,
        header.data_path,
        header.where,
        header.bucket_edges,
    )


def _decode_plots(header: Header, arrays: dict[str, NDArray[Any]]) -> EvaluationPlots:
    rows = arrays.get("plot_rows", np.zeros(0)).astype(np.int64).ravel()
    edges = arrays.get("plot_edges", np.zeros(0)).ravel()
    if len(rows) and not (0 <= rows.min() and rows.max() < len(header.slices)):
        raise FormatError(
            "fairness.invalid_plots", "the plots of the evaluation do not fit its slices"
        )
    outputs = len(header.outputs)
    confusion = arrays.get("plot_confusion", np.zeros((0, 0, 0)))
    if confusion.size:
        confusion = _get(arrays, "plot_confusion", (len(rows), outputs, outputs))
    return EvaluationPlots(
        rows=rows,
        outputs=header.outputs,
        edges=edges,
        counts=_get(arrays, "plot_counts", (outputs, len(rows), 2, len(edges) + 1)),
        calibration=_get(arrays, "plot_calibration", (outputs, len(rows), 3, CALIBRATION_BUCKETS)),
        confusion=confusion,
        is_exact=header.exact_curves,
    )


def _decode_array(spec: ArrayHeader, data: bytes) -> NDArray[Any]:
    if spec.dtype not in _DTYPES or len(spec.shape) > 4 or any(size < 0 for size in spec.shape):
        raise FormatError(
            "fairness.array_type",
            'the array "{name}" of the evaluation has an invalid type',
            name=spec.name,
        )
    size = int(spec.dtype[-1])
    for length in spec.shape:
        size *= length
    if size > _MAX_ARRAY_BYTES:
        raise FormatError(
            "fairness.array_size",
            'the array "{name}" of the evaluation is too large',
            name=spec.name,
        )
    try:
        content = zlib.decompressobj().decompress(data, size + 1)
    except zlib.error as error:
        raise FormatError(
            "fairness.array_damaged",
            'the array "{name}" of the evaluation is damaged: {error}',
            name=spec.name,
            error=error,
        ) from None
    if len(content) != size:
        raise FormatError(
            "fairness.array_incomplete",
            'the array "{name}" of the evaluation is incomplete',
            name=spec.name,
        )
    return np.frombuffer(content, spec.dtype).reshape(spec.shape)


def _get(arrays: dict[str, NDArray[Any]], name: str, shape: tuple[int, ...]) -> NDArray[Any]:
    if name not in arrays:
        raise FormatError("fairness.no_array", 'the evaluation has no array "{name}"', name=name)
    array = arrays[name]
    if array.shape != shape:
        raise FormatError(
            "fairness.array_shape",
            'the array "{name}" of the evaluation has an unexpected shape',
            name=name,
        )
    return array.astype(np.float64)


def _as_method(text: str) -> IntervalMethod:
    for method in ("none", "jackknife", "bootstrap", "exact"):
        if text == method:
            return method
    raise FormatError(
        "fairness.unknown_method",
        'the evaluation has an unknown interval method "{method}"',
        method=text,
    )


# ---- Markdown

_REPORT_METRICS = (
    "accuracy",
    "precision",
    "recall",
    "false_positive_rate",
    "false_negative_rate",
    "positive_rate",
    "auc",
    "mean_error",
    "mean_absolute_error",
    "root_mean_squared_error",
    "r2",
)
_MAX_SLICES = 50
_MAX_GAPS = 10

#: Slices with fewer rows are marked in reports.
SMALL_SLICE_ROWS = 100

_METHODS = {
    "jackknife": "delete-a-group jackknife",
    "bootstrap": "Poisson bootstrap",
    "exact": "exact binomial",
    "none": "no intervals",
}
_CORRECTIONS = {
    "none": "not corrected for the number of comparisons",
    "bonferroni": "corrected for the number of comparisons (Bonferroni)",
    "holm": "corrected for the number of comparisons (Holm)",
    "benjamini-hochberg": "corrected for the number of comparisons (Benjamini-Hochberg)",
}


@dataclass(frozen=True)
class Gap:
    """A difference between a slice and the baseline."""

    slice_at: int
    column_at: int
    difference: float
    is_significant: bool


def rank_gaps(
    difference: Difference, columns: Sequence[int] | None = None, limit: int = 100
) -> list[Gap]:
    """Return the largest differences: significant ones first, each by absolute size."""
    result = difference.result
    usable = np.array([not is_count(column.metric) for column in result.columns], bool)
    if columns is not None:
        usable &= np.isin(np.arange(len(usable)), columns)
    size = np.where(usable, np.abs(difference.absolute), np.nan)
    if difference.baseline >= 0:
        size[difference.baseline] = np.nan
    significant = difference.is_significant
    known = np.flatnonzero(~np.isnan(size.ravel()))
    order = np.lexsort((-size.ravel()[known], ~significant.ravel()[known]))[:limit]
    rows, cols = np.unravel_index(known[order], size.shape)
    return [
        Gap(int(row), int(col), float(difference.absolute[row, col]), bool(significant[row, col]))
        for row, col in zip(rows, cols, strict=True)
    ]


def format_report(
    stored: StoredEvaluation,
    baseline: str = "Overall",
    metrics: Sequence[str] | None = None,
    threshold: float | None = None,
) -> str:
    """Return a section for a model card: conditions, values with intervals, and gaps."""
    result = stored.result
    columns = _choose_columns(result, metrics, threshold)
    chosen = result.select(columns=columns)
    difference = chosen.difference(baseline)
    order = np.argsort(-chosen.counts, kind="stable")[:_MAX_SLICES]
    labels = [column.label for column in chosen.columns]
    lines = ["## Performance by group", "", *_describe(stored, baseline), ""]
    lines.append("| " + " | ".join(["Slice", "Rows", *map(_escape, labels)]) + " |")
    lines.append("|" + "---|" * (len(labels) + 2))
    names = chosen.slice_names
    for row in order.tolist():
        small = " (small)" if chosen.counts[row] < SMALL_SLICE_ROWS else ""
        cells = [_format_value(chosen, row, column) for column in range(len(labels))]
        head = [_escape(names[row]) + small, f"{chosen.counts[row]:,}"]
        lines.append("| " + " | ".join([*head, *cells]) + " |")
    if len(names) > len(order):
        lines += ["", f"The {len(order)} largest of {len(names):,} slices are shown."]
    lines += ["", *_format_gaps(difference, baseline)]
    return "\n".join(lines) + "\n"


def _choose_columns(
    result: EvaluationResult, metrics: Sequence[str] | None, threshold: float | None
) -> list[int]:
    thresholds = sorted({c.threshold for c in result.columns if c.threshold is not None})
    if threshold is None and thresholds:
        threshold = thresholds[len(thresholds) // 2]
    wanted = _REPORT_METRICS if metrics is None else tuple(metrics)
    for metric in metrics or ():
        if all(column.metric != metric for column in result.columns):
            result.get_column(metric)  # raises
    averages = (None, "macro") if metrics is None else (None, "micro", "macro", "weighted")
    return [
        at
        for metric in wanted
        for at, column in enumerate(result.columns)
        if column.metric == metric
        and column.threshold in (None, threshold)
        and column.output in averages
    ]


def _describe(stored: StoredEvaluation, baseline: str) -> list[str]:
    result = stored.result
    method = _METHODS[result.resampling.method]
    text = f"{int(result.counts.max()):,} rows, {len(result.slices):,} slices, baseline {baseline}."
    if result.resampling.method != "none":
        text += f" Intervals: {result.resampling.confidence:.0%}, {method}."
    notes = [text]
    if result.omitted:
        notes.append(f"{len(result.omitted):,} slices below the minimum size were left out.")
    return [*notes, *map(str, result.warnings)]


def _format_gaps(difference: Difference, baseline: str) -> list[str]:
    result = difference.result
    gaps = [gap for gap in rank_gaps(difference, limit=_MAX_GAPS) if gap.is_significant]
    correction = _CORRECTIONS[difference.correction]
    if not gaps:
        return [f"No significant difference to {baseline} ({correction})."]
    lines = [f"Largest significant differences to {baseline} ({correction}):", ""]
    names = result.slice_names
    for gap in gaps:
        column = result.columns[gap.column_at]
        low = difference.lower[gap.slice_at, gap.column_at]
        high = difference.upper[gap.slice_at, gap.column_at]
        direction = get_direction(column.metric)
        better = direction != "neutral" and (gap.difference > 0) == (direction == "higher")
        verdict = "" if direction == "neutral" else ", better" if better else ", worse"
        lines.append(
            f"- {_escape(names[gap.slice_at])}, {column.label}: {gap.difference:+.3f} "
            f"({low:+.3f} to {high:+.3f}){verdict}"
        )
    return lines


def _format_value(result: EvaluationResult, row: int, column: int) -> str:
    value = result.value[row, column]
    if np.isnan(value):
        return "undefined"
    low, high = result.lower[row, column], result.upper[row, column]
    return f"{value:.3f}" if np.isnan(low) else f"{value:.3f} ({low:.3f} to {high:.3f})"


def _escape(text: str) -> str:
    """Return a name that does not end a table cell or start markup."""
    for character in "\\|<>*_`[]":
        text = text.replace(character, "\\" + character)
    return text.replace("\n", " ")
