"""Read an evaluation folder of TensorFlow Model Analysis (TFMA)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from tracklight.analysis.evaluation import EvaluationPlots
from tracklight.analysis.evaluation.metrics import CALIBRATION_BUCKETS, REGRESSION_METRICS
from tracklight.analysis.evaluation.models import Task
from tracklight.analysis.evaluation.report import StoredEvaluation
from tracklight.analysis.evaluation.resampling import Resampling
from tracklight.analysis.evaluation.results import EvaluationResult, MetricColumn
from tracklight.analysis.evaluation.slices import SliceKey, format_slice, make_sort_key
from tracklight.analysis.fairness.tfma import (
    MAX_CONFIG_BYTES,
    TfmaConfig,
    TfmaKey,
    TfmaPlots,
    TfmaSliceMetrics,
    TfmaValidation,
    TfmaValue,
    iter_messages,
    parse_attributions,
    parse_config,
    parse_metrics,
    parse_plots,
    parse_validation,
)
from tracklight.errors import LogError, Message, TracklightError, get_message
from tracklight.logdir.access import ConfinedFiles, join_path
from tracklight.logdir.discover import EVALUATION_CONFIG, find_evaluation_file_kind
from tracklight.types import Float64, Int64

ItemT = TypeVar("ItemT")

MAX_TFMA_SLICES = 100_000
_MAX_PLOT_SLICES = 5_000

#: Prefixes of metric names that only say which code computed them.
_PREFIXES = ("fairness_indicators_metrics/", "post_export_metrics/", "fairness/")
#: Names of TFMA for metrics that have another name here.
_NAMES = {
    "label/mean": "label_mean",
    "prediction/mean": "prediction_mean",
    "binary_accuracy": "accuracy",
    "auc_pr": "auc_precision_recall",
    "flip_rate/overall": "flip_rate",
    "flip_rate/positive_to_negative": "positive_to_negative_flip_rate",
    "flip_rate/negative_to_positive": "negative_to_positive_flip_rate",
    "flip_count/positive_to_negative": "positive_to_negative_flip_count",
    "flip_count/negative_to_positive": "negative_to_positive_flip_count",
}
_THRESHOLD = re.compile(r"(.+)@(\d*\.?\d+(?:e-?\d+)?)", re.IGNORECASE)
_BINARY_METRICS = frozenset({"auc", "false_positive_rate", "true_positive_rate", "positive_rate"})


@dataclass(frozen=True)
class Attribution:
    """The attribution of one feature in one slice."""

    slice: str
    metric: str
    feature: str
    value: float


@dataclass(frozen=True)
class ValidationFailure:
    """A metric that is outside its bounds."""

    slice: str
    metric: str
    value: float
    bounds: str
    message: str


@dataclass(frozen=True)
class Validation:
    """Whether a model passed the thresholds of its configuration."""

    is_ok: bool
    failures: Sequence[ValidationFailure] = ()
    missing_slices: Sequence[str] = ()
    has_no_thresholds: bool = False
    is_rubber_stamped: bool = False
    checked_slices: int = 0


@dataclass(frozen=True, eq=False)
class ModelEvaluation:
    """The results of one model of a folder."""

    stored: StoredEvaluation
    is_baseline: bool = False
    attributions: Sequence[Attribution] = ()
    validation: Validation | None = None
    problems: Sequence[Message] = field(default_factory=tuple)
    """What could not be read, one sentence each."""


def read_tfma_folder(files: ConfinedFiles, folder: str) -> list[ModelEvaluation]:
    """Return the results of each model of an evaluation folder, the baseline last.

    Files that cannot be read, and the rest of a file after damage, are reported in ``problems``.

    Raises:
        LogError: The folder is outside the log directories, does not exist, or has no results.
    """
    try:
        names = files.list_file_names(folder)
    except OSError as error:
        raise LogError(
            "fairness.cannot_read",
            'cannot read "{folder}": {error}',
            folder=folder,
            error=error.strerror or error,
        ) from None
    reader = _FolderReader(files, folder, names)
    config = reader.read_config()
    slices = reader.read("metrics", lambda data: [parse_metrics(data)])
    if not slices:
        if reader.problems:
            raise LogError(
                "fairness.unreadable_folder",
                'no evaluation could be read from "{folder}": {problem}',
                folder=folder,
                problem=reader.problems[0],
            )
        raise LogError("fairness.empty_folder", 'no evaluation in "{folder}"', folder=folder)
    plots = reader.read("plots", parse_plots)
    attributions = reader.read("attributions", parse_attributions)
    validations = reader.read("validations", lambda data: [parse_validation(data)])
    models = list(dict.fromkeys(key.model for item in slices for key in item.metrics)) or [""]
    baselines = {model.name for model in config.models if model.is_baseline}
    result = []
    for model in sorted(models, key=lambda name: name in baselines):
        is_baseline = model in baselines and len(models) > 1
        stored = _build_evaluation(model, slices, plots, config)
        result.append(
            ModelEvaluation(
                stored=stored,
                is_baseline=is_baseline,
                attributions=[
                    Attribution(format_slice(item.slice), item.key.name, item.feature, item.value)
                    for item in attributions
                    if item.key.model == model
                ],
                validation=_convert_validation(validations) if not is_baseline else None,
                problems=tuple(reader.problems),
            )
        )
    return result


class _FolderReader:
    """Read the files of one folder; problems are collected."""

    def __init__(self, files: ConfinedFiles, folder: str, names: Sequence[str]) -> None:
        self._files = files
        self._folder = folder
        self._names = names
        self.problems: list[Message] = []

    def read_config(self) -> TfmaConfig:
        if EVALUATION_CONFIG not in self._names:
            return TfmaConfig()
        try:
            with self._files.open(join_path(self._folder, EVALUATION_CONFIG)) as file:
                return parse_config(file.read(MAX_CONFIG_BYTES))
        except TracklightError as error:
            self.problems.append(get_message(error))
            return TfmaConfig()

    def read(self, kind: str, parse: Callable[[bytes], list[ItemT]]) -> list[ItemT]:
        """Return the parsed messages of all files of a kind."""
        items: list[ItemT] = []
        for name in self._names:
            if find_evaluation_file_kind(name) != kind:
                continue
            try:
                with self._files.open(join_path(self._folder, name)) as file:
                    for data in iter_messages(file):
                        items += parse(data)
                        if len(items) > MAX_TFMA_SLICES:
                            raise LogError(
                                "fairness.too_many_records",
                                "there are more than {limit:,} records",
                                limit=MAX_TFMA_SLICES,
                            )
            except TracklightError as error:
                self.problems.append(
                    Message.format(
                        "fairness.file_problem", "{file}: {error}", file=name, error=error
                    )
                )
        return items


def _build_evaluation(
    model: str,
    slices: Sequence[TfmaSliceMetrics],
    plots: Sequence[TfmaPlots],
    config: TfmaConfig,
) -> StoredEvaluation:
    keys = list(dict.fromkeys(key for item in slices for key in item.metrics if key.model == model))
    columns = _name_columns(keys)
    order = {key: at for at, key in enumerate(keys)}
    rows = _list_slices(model, slices)
    positions = {key: at for at, key in enumerate(rows)}
    value, lower, upper = (np.full((len(rows), len(keys)), np.nan) for _ in range(3))
    warnings: list[Message] = []
    degrees: list[int] = []
    omitted = [item.slice for item in slices if not item.metrics and item.problems]
    for item in slices:
        for problem in item.problems if item.metrics else ():
            name = format_slice(item.slice)
            warnings.append(Message("", f"{name}: {problem}"))
        if item.slice not in positions:
            continue
        row = positions[item.slice]
        for key, number in item.metrics.items():
            if key.model == model:
                at = (row, order[key])
                value[at], lower[at], upper[at] = number.value, number.lower, number.upper
                degrees += _list_degrees(number)
    stored_model = next((spec for spec in config.models if spec.name == model), None)
    used = {}
    if stored_model is not None:
        used = {
            "label": stored_model.label_key,
            "prediction": stored_model.prediction_key,
            "weight": stored_model.weight_key,
        }
    has_intervals = bool(np.isfinite(lower).any())
    result = EvaluationResult(
        slices=rows,
        columns=columns,
        counts=_get_example_counts(columns, value),
        value=value,
        lower=lower,
        upper=upper,
        resampling=_make_resampling(config, degrees, has_intervals),
        warnings=tuple(dict.fromkeys(warnings[:100])),
        omitted=tuple(omitted),
    )
    return StoredEvaluation(
        result=result,
        plots=_build_plots(model, plots, positions),
        task=_infer_task(columns),
        model=model,
        columns_used={name: column for name, column in used.items() if column},
        # TFMA stores "<user provided PCollection>" if the rows did not come from a file.
        data_path="" if config.data_location.startswith("<") else config.data_location,
    )


def _list_slices(model: str, slices: Sequence[TfmaSliceMetrics]) -> list[SliceKey]:
    """Return the slices that have metrics of a model: by columns, then by value."""
    found = dict.fromkeys(
        item.slice for item in slices if any(key.model == model for key in item.metrics)
    )
    specs = {tuple(column for column, _ in key): None for key in found}
    order = {columns: at for at, columns in enumerate(sorted(specs, key=len))}
    return sorted(
        found, key=lambda key: (order[tuple(column for column, _ in key)], make_sort_key(key))
    )


def _list_degrees(number: TfmaValue) -> list[int]:
    return [] if number.degrees_of_freedom is None else [number.degrees_of_freedom]


def _make_resampling(config: TfmaConfig, degrees: list[int], has_intervals: bool) -> Resampling:
    if not has_intervals:
        return Resampling("none")
    samples = min(max(max(degrees, default=19) + 1, 2), 200)
    method = "jackknife" if config.interval_method == "jackknife" else "bootstrap"
    return Resampling("jackknife" if method == "jackknife" else "bootstrap", samples)


def _name_columns(keys: Sequence[TfmaKey]) -> list[MetricColumn]:
    """Return the metric columns of keys; keys that would be equal keep their full names."""
    columns = [_name_column(key, short=True) for key in keys]
    repeated = {column for column in columns if columns.count(column) > 1} if columns else set()
    return [
        _name_column(key, short=False) if column in repeated else column
        for key, column in zip(keys, columns, strict=True)
    ]


def _name_column(key: TfmaKey, *, short: bool) -> MetricColumn:
    name, threshold = key.name, None
    if short:
        for prefix in _PREFIXES:
            name = name.removeprefix(prefix)
    elif key.is_weighted is not None:
        name += " (weighted)" if key.is_weighted else " (unweighted)"
    match = _THRESHOLD.fullmatch(name)
    if match and not match[1].endswith("lift") and 0 <= float(match[2]) <= 1:
        name, threshold = match[1], float(match[2])
    if short:
        name = _NAMES.get(name, name)
    if key.is_difference:
        name += "_diff"
    return MetricColumn(name, threshold, key.output or None)


def _get_example_counts(columns: Sequence[MetricColumn], value: Float64) -> Int64:
    for name in ("example_count", "weighted_example_count"):
        for at, column in enumerate(columns):
            if column.metric == name:
                return np.nan_to_num(value[:, at], nan=0, posinf=0, neginf=0).astype(np.int64)
    return np.zeros(len(value), np.int64)


def _infer_task(columns: Sequence[MetricColumn]) -> Task:
    names = {column.metric for column in columns}
    if any(column.output for column in columns):
        return "multiclass"
    if not names.isdisjoint(_BINARY_METRICS) or any(c.threshold is not None for c in columns):
        return "binary"
    return "regression" if not names.isdisjoint(REGRESSION_METRICS) else "binary"


def _build_plots(
    model: str, plots: Sequence[TfmaPlots], positions: dict[SliceKey, int]
) -> EvaluationPlots | None:
    """Return score histograms of the slices, from confusion matrices at many thresholds."""
    own = [item for item in plots if item.key.model == model and item.slice in positions]
    curves = [item for item in own if len(item.matrices) > 1]
    matrices = {item.slice: item.confusion for item in own if item.confusion}
    if not curves and not matrices:
        return None
    outputs = list(dict.fromkeys(item.key.output for item in curves)) or [""]
    thresholds = [tuple(row[0] for row in item.matrices) for item in curves]
    grid = max(set(thresholds), key=thresholds.count) if thresholds else ()
    edges = np.array(grid, np.float64)
    keys = list(dict.fromkeys(item.slice for item in own))[:_MAX_PLOT_SLICES]
    rows = np.array([positions[key] for key in keys], np.int64)
    at = {key: number for number, key in enumerate(keys)}
    counts = np.zeros((len(outputs), len(keys), 2, len(edges) + 1))
    calibration = np.zeros((len(outputs), len(keys), 3, CALIBRATION_BUCKETS))
    for item in own:
        if item.slice not in at or item.key.output not in outputs:
            continue
        place = (outputs.index(item.key.output), at[item.slice])
        if tuple(row[0] for row in item.matrices) == grid and len(edges):
            counts[place] = _make_histogram(np.array(item.matrices, np.float64))
        calibration[place] += _sum_calibration(item)
    classes = 1 + max((max(cell[:2]) for cells in matrices.values() for cell in cells), default=-1)
    confusion = np.zeros((0, 0, 0))
    if classes > 0:
        confusion = np.zeros((len(keys), classes, classes))
        for key, cells in matrices.items():
            for label, predicted, weight in cells if key in at else ():
                confusion[at[key], label, predicted] = weight
        if len(outputs) != classes:
            outputs = [str(number) for number in range(classes)]
            counts = np.zeros((classes, len(keys), 2, len(edges) + 1))
            calibration = np.zeros((classes, len(keys), 3, CALIBRATION_BUCKETS))
    return EvaluationPlots(rows, outputs, edges, counts, calibration, confusion)


def _make_histogram(matrices: Float64) -> Float64:
    """Return weights by label and bin from rows of threshold, TP, FP, TN and FN."""
    _, tp, fp, tn, fn = matrices.T
    below = np.stack([tn, fn])
    total = np.stack([fp, tp])[:, -1:]
    steps = np.diff(below, axis=1, prepend=0)
    return np.asarray(np.maximum(np.concatenate([steps, total], axis=1), 0))


def _sum_calibration(item: TfmaPlots) -> Float64:
    sums: Float64 = np.zeros((3, CALIBRATION_BUCKETS))
    for low, high, weight, labels, predictions in item.calibration:
        middle = (max(low, 0.0) + min(high, 1.0)) / 2
        if 0 <= middle <= 1 and np.isfinite([weight, labels, predictions]).all():
            bucket = min(int(middle * CALIBRATION_BUCKETS), CALIBRATION_BUCKETS - 1)
            sums[:, bucket] += weight, predictions, labels
    return sums


def _convert_validation(validations: Iterable[TfmaValidation]) -> Validation | None:
    for item in validations:
        return Validation(
            is_ok=item.is_ok,
            failures=[
                ValidationFailure(
                    slice=format_slice(failure.slice),
                    metric=_name_column(failure.key, short=True).label,
                    value=failure.value,
                    bounds=failure.bounds,
                    message=failure.message,
                )
                for failure in item.failures
            ],
            missing_slices=item.missing_slices,
            has_no_thresholds=item.has_no_thresholds,
            is_rubber_stamped=item.is_rubber_stamped,
            checked_slices=item.checked_slices,
        )
    return None
