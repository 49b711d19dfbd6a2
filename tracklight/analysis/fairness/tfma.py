"""Results of TensorFlow Model Analysis (TFMA): metrics, plots, attributions and validations.

An evaluation is a folder with ``eval_config.json`` and the files ``metrics``, ``plots``,
``attributions`` and ``validations``, each TFRecord or Parquet, whole or in shards
(``metrics-00000-of-00004.tfrecord``). Records are protobuf messages, one for each slice. TensorFlow
is not needed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Literal

import numpy as np

from tracklight.errors import FormatError, import_optional
from tracklight.formats import proto
from tracklight.formats.proto import Message, decode_text
from tracklight.formats.tfrecord import iter_records
from tracklight.logdir.discover import EVALUATION_CONFIG
from tracklight.util.parsing import load_json

# ---- files

MAX_CONFIG_BYTES = 16 << 20

_MAX_RECORD_BYTES = 256 << 20
_PARQUET_MAGIC = b"PAR1"
_PARQUET_COLUMN = "serialized_value"


@dataclass(frozen=True)
class TfmaModel:
    """One model of the configuration."""

    name: str
    is_baseline: bool = False
    label_key: str = ""
    prediction_key: str = ""
    weight_key: str = ""
    location: str = ""


@dataclass(frozen=True)
class TfmaConfig:
    """What was evaluated; empty where the configuration does not say."""

    version: str = ""
    models: Sequence[TfmaModel] = ()
    data_location: str = ""
    slices: Sequence[str] = ()
    interval_method: str = ""
    """``jackknife``, ``bootstrap``, or empty."""
    min_slice_size: int = 1


def iter_messages(file: BinaryIO) -> Iterator[bytes]:
    """Yield the serialized messages of a TFRecord or Parquet file.

    Raises:
        FormatError: The file is damaged or incomplete; messages before the damage were yielded.
        MissingDependencyError: It is a Parquet file, and pyarrow is not installed.
    """
    head = file.read(len(_PARQUET_MAGIC))
    file.seek(0)
    if head == _PARQUET_MAGIC:
        yield from _iter_parquet(file)
        return
    compression: Literal["gzip"] | None = "gzip" if head[:2] == b"\x1f\x8b" else None
    for _, payload in iter_records(
        file, compression=compression, max_record_bytes=_MAX_RECORD_BYTES
    ):
        yield payload


def _iter_parquet(file: BinaryIO) -> Iterator[bytes]:
    parquet = import_optional("pyarrow.parquet", "reading Parquet evaluations", "parquet")
    arrow = import_optional("pyarrow", "reading Parquet evaluations", "parquet")
    try:
        table = parquet.ParquetFile(file)
        if _PARQUET_COLUMN not in table.schema_arrow.names:
            raise FormatError(
                "tfma.no_column", 'the Parquet file has no column "{name}"', name=_PARQUET_COLUMN
            )
        for batch in table.iter_batches(1000, columns=[_PARQUET_COLUMN]):
            for value in batch.column(0).to_pylist():
                if isinstance(value, bytes):
                    yield value
    except (arrow.ArrowException, OSError) as error:
        reason = str(error).strip().partition("\n")[0].rstrip(".")
        raise FormatError(
            "tfma.damaged_parquet",
            "the Parquet file is damaged or incomplete: {reason}",
            reason=reason,
        ) from None


def parse_config(data: bytes) -> TfmaConfig:
    """Decode ``eval_config.json``.

    Raises:
        FormatError: The file is no such configuration.
    """
    try:
        run = load_json(data)
        if not isinstance(run, dict):
            raise ValueError("it is no object")
    except (ValueError, RecursionError) as error:
        raise FormatError(
            "tfma.invalid_config",
            "{file} is invalid or incomplete: {error}",
            file=EVALUATION_CONFIG,
            error=error,
        ) from None
    config = _get(run, "evalConfig", dict)
    options = _get(config, "options", dict)
    locations = _get(run, "modelLocations", dict)
    models = [
        TfmaModel(
            name=_get(spec, "name", str),
            is_baseline=_get(spec, "isBaseline", bool),
            label_key=_get(spec, "labelKey", str),
            prediction_key=_get(spec, "predictionKey", str),
            weight_key=_get(spec, "exampleWeightKey", str),
            location=str(locations.get(_get(spec, "name", str), "")),
        )
        for spec in _get(config, "modelSpecs", list)
        if isinstance(spec, dict)
    ]
    method = _get(_get(options, "confidenceIntervals", dict), "method", str)
    computes = options.get(
        "computeConfidenceIntervals", options.get("compute_confidence_intervals")
    )
    minimum = options.get("minSliceSize", options.get("min_slice_size", 1))
    return TfmaConfig(
        version=_get(run, "version", str),
        models=models,
        data_location=_get(run, "dataLocation", str),
        slices=[
            _format_json_spec(spec)
            for spec in _get(config, "slicingSpecs", list)
            if isinstance(spec, dict)
        ],
        interval_method={"JACKKNIFE": "jackknife", "POISSON_BOOTSTRAP": "bootstrap"}.get(
            method, "bootstrap" if computes is True else ""
        ),
        min_slice_size=minimum if isinstance(minimum, int) and minimum > 0 else 1,
    )


def _get(data: dict[str, Any], name: str, kind: type[Any]) -> Any:
    """Return a field in camel or snake case, or an empty value if it is missing or wrong."""
    snake = re.sub(r"([A-Z])", lambda match: "_" + match[1].lower(), name)
    value = data.get(name, data.get(snake))
    return value if isinstance(value, kind) else kind()


def _format_json_spec(spec: dict[str, Any]) -> str:
    sql = _get(spec, "sliceKeysSql", str)
    if sql:
        return str(sql)
    keys = [str(key) for key in _get(spec, "featureKeys", list)]
    values = _get(spec, "featureValues", dict)
    return join_spec(keys, {str(key): str(value) for key, value in values.items()})


def join_spec(keys: Sequence[str], values: Mapping[str, str]) -> str:
    """Return the name of a slicing specification: columns, and fixed values by column."""
    parts = [*keys, *(f"{key}:{value}" for key, value in values.items())]
    return "_X_".join(parts) or "Overall"


# ---- messages

_MAX_CLASSES = 1000

#: 95 % quantile of Student's t with 19 degrees of freedom: TFMA uses 20 samples.
_T_QUANTILE = 2.093

SliceKey = tuple[tuple[str, str], ...]

#: Separates the two slices of a cross-slice result.
CROSS_SLICE_SEPARATOR = "__XX__"


@dataclass(frozen=True)
class TfmaKey:
    """Which model, output and class a metric or plot belongs to."""

    name: str
    model: str = ""
    output: str = ""
    """Output name, class and aggregation, joined by ``/``; empty for the only output."""
    is_difference: bool = False
    """Whether the value is the difference to the baseline model."""
    is_weighted: bool | None = None


@dataclass(frozen=True)
class TfmaValue:
    """A number with bounds; NaN where there are none."""

    value: float
    lower: float = math.nan
    upper: float = math.nan
    degrees_of_freedom: int | None = None


@dataclass(frozen=True)
class TfmaSliceMetrics:
    """The metrics of one slice."""

    slice: SliceKey
    metrics: Mapping[TfmaKey, TfmaValue]
    problems: Sequence[str] = ()


@dataclass(frozen=True)
class TfmaPlots:
    """The plots of one slice for one model and output."""

    slice: SliceKey
    key: TfmaKey
    #: Threshold, true positives, false positives, true negatives, false negatives.
    matrices: Sequence[tuple[float, float, float, float, float]] = ()
    #: Lower and upper bound, weight, sum of labels, sum of predictions.
    calibration: Sequence[tuple[float, float, float, float, float]] = ()
    #: Label, predicted class, weight; of the first threshold.
    confusion: Sequence[tuple[int, int, float]] = ()
    problem: str = ""


@dataclass(frozen=True)
class TfmaAttribution:
    """The attribution of one feature in one slice."""

    slice: SliceKey
    key: TfmaKey
    feature: str
    value: float


@dataclass(frozen=True)
class TfmaFailure:
    """A metric that is outside its bounds."""

    slice: SliceKey
    key: TfmaKey
    value: float
    bounds: str
    """The required bounds in words, such as ``>= 0.8``."""
    message: str


@dataclass(frozen=True)
class TfmaValidation:
    """Whether a model passed the thresholds of its configuration."""

    is_ok: bool
    failures: Sequence[TfmaFailure] = ()
    missing_slices: Sequence[str] = ()
    has_no_thresholds: bool = False
    is_rubber_stamped: bool = False
    checked_slices: int = 0


def parse_metrics(data: bytes) -> TfmaSliceMetrics:
    """Decode a ``MetricsForSlice`` message.

    Raises:
        FormatError: The bytes are no such message.
    """
    message = proto.parse("TfmaMetricsForSlice", data)
    metrics: dict[TfmaKey, TfmaValue] = {}
    problems = []
    named = [(TfmaKey(decode_text(item.key)), item.value, None) for item in message.metrics]
    keyed = [
        (
            _parse_key(item.key),
            item.value,
            item.confidence_interval if item.HasField("confidence_interval") else None,
        )
        for item in message.metric_keys_and_values
    ]
    for key, value, interval in (*named, *keyed):
        if value.WhichOneof("type") == "debug_message":
            problems.append(decode_text(value.debug_message))
        else:
            metrics.update(_iter_values(key, value, interval))
    return TfmaSliceMetrics(_parse_slice(message), metrics, tuple(problems))


def parse_plots(data: bytes) -> list[TfmaPlots]:
    """Decode a ``PlotsForSlice`` message.

    Raises:
        FormatError: The bytes are no such message.
    """
    message = proto.parse("TfmaPlotsForSlice", data)
    slice_ = _parse_slice(message)
    plots = [(_parse_key(item.key), item.value) for item in message.plot_keys_and_values]
    plots += [(TfmaKey(decode_text(item.key)), item.value) for item in message.plots]
    if message.HasField("plot_data"):
        plots.append((TfmaKey(""), message.plot_data))
    return [_parse_plot(slice_, key, plot) for key, plot in plots]


def _parse_plot(slice_: SliceKey, key: TfmaKey, plot: Message) -> TfmaPlots:
    confusion: list[tuple[int, int, float]] = []
    for matrix in plot.multi_class_confusion_matrix_at_thresholds.matrices[:1]:
        for entry in matrix.entries:
            if max(entry.actual_class_id, entry.predicted_class_id) < _MAX_CLASSES:
                cell = (entry.actual_class_id, entry.predicted_class_id)
                confusion.append((*cell, entry.num_weighted_examples))
    return TfmaPlots(
        slice=slice_,
        key=key,
        matrices=[
            (
                m.threshold,
                m.true_positives,
                m.false_positives,
                m.true_negatives,
                m.false_negatives,
            )
            for m in plot.confusion_matrix_at_thresholds.matrices
        ],
        calibration=[
            (
                bucket.lower_threshold_inclusive,
                bucket.upper_threshold_exclusive,
                bucket.num_weighted_examples.value,
                bucket.total_weighted_label.value,
                bucket.total_weighted_refined_prediction.value,
            )
            for bucket in plot.calibration_histogram_buckets.buckets
        ],
        confusion=[cell for cell in confusion if min(cell[:2]) >= 0],
        problem=decode_text(plot.debug_message),
    )


def parse_attributions(data: bytes) -> list[TfmaAttribution]:
    """Decode an ``AttributionsForSlice`` message.

    Raises:
        FormatError: The bytes are no such message.
    """
    message = proto.parse("TfmaAttributionsForSlice", data)
    slice_ = _parse_slice(message)
    return [
        TfmaAttribution(slice_, _parse_key(item.key), decode_text(feature.key), value.value)
        for item in message.attributions_keys_and_values
        for feature in item.values
        for _, value in _iter_values(TfmaKey(""), feature.value, None)
    ]


def parse_validation(data: bytes) -> TfmaValidation:
    """Decode a ``ValidationResult`` message.

    Raises:
        FormatError: The bytes are no such message.
    """
    message = proto.parse("TfmaValidationResult", data)
    failures = []
    for item in message.metric_validations_per_slice:
        for failure in item.failures:
            key = _parse_key(failure.metric_key)
            values = [value for _, value in _iter_values(key, failure.metric_value, None)]
            failures.append(
                TfmaFailure(
                    slice=_parse_slice(item),
                    key=key,
                    value=values[0].value if values else math.nan,
                    bounds=_format_bounds(failure.metric_threshold),
                    message=decode_text(failure.message),
                )
            )
    missing = [_format_spec(spec) for spec in message.missing_slices]
    missing += [
        f"{_format_spec(spec.baseline_spec)}{CROSS_SLICE_SEPARATOR}{_format_spec(other)}"
        for spec in message.missing_cross_slices
        for other in spec.slicing_specs
    ]
    return TfmaValidation(
        is_ok=message.validation_ok,
        failures=failures,
        missing_slices=missing,
        has_no_thresholds=message.missing_thresholds,
        is_rubber_stamped=message.rubber_stamp,
        checked_slices=sum(
            item.num_matching_slices for item in message.validation_details.slicing_details
        ),
    )


def _format_spec(spec: Message) -> str:
    if spec.slice_keys_sql:
        return decode_text(spec.slice_keys_sql)
    values = {decode_text(item.key): decode_text(item.value) for item in spec.feature_values}
    return join_spec([decode_text(key) for key in spec.feature_keys], values)


def _parse_slice(message: Message) -> SliceKey:
    if message.HasField("cross_slice_key"):
        baseline = _name_slice(_parse_slice_key(message.cross_slice_key.baseline_slice_key))
        other = _name_slice(_parse_slice_key(message.cross_slice_key.comparison_slice_key))
        return (("cross slice", f"{baseline}{CROSS_SLICE_SEPARATOR}{other}"),)
    return _parse_slice_key(message.slice_key)


def _parse_slice_key(key: Message) -> SliceKey:
    return tuple(
        (decode_text(part.column), _parse_slice_value(part)) for part in key.single_slice_keys
    )


def _parse_slice_value(part: Message) -> str:
    kind = part.WhichOneof("kind")
    if kind == "bytes_value":
        return decode_text(part.bytes_value)
    if kind == "float_value":
        return _format_float32(part.float_value)
    return str(part.int64_value)


def _format_float32(value: float) -> str:
    """Return the shortest text that is the same float32."""
    texts = (f"{value:.{digits}g}" for digits in (7, 8))
    return next((text for text in texts if np.float32(text) == value), f"{value:.9g}")


def _name_slice(key: SliceKey) -> str:
    if not key:
        return "Overall"
    return "_X_".join(name for name, _ in key) + ":" + "_X_".join(value for _, value in key)


def _parse_key(key: Message) -> TfmaKey:
    parts = [decode_text(key.output_name)] if key.output_name else []
    for name, label in (("class_id", ""), ("k", "k="), ("top_k", "top_k=")):
        if key.sub_key.HasField(name):
            parts.append(f"{label}{getattr(key.sub_key, name).value}")
    aggregation = getattr(key, "aggregation_type", None)
    if aggregation is not None:
        for name, label in (
            ("micro_average", "micro"),
            ("macro_average", "macro"),
            ("weighted_macro_average", "weighted"),
        ):
            if getattr(aggregation, name):
                parts.append(label)
    return TfmaKey(
        name=decode_text(key.name),
        model=decode_text(key.model_name),
        output="/".join(parts),
        is_difference=getattr(key, "is_diff", False),
        is_weighted=key.example_weighted.value if key.HasField("example_weighted") else None,
    )


def _iter_values(
    key: TfmaKey, value: Message, interval: Message | None
) -> Iterator[tuple[TfmaKey, TfmaValue]]:
    """Yield the numbers of a metric; values that are no numbers, such as ids, are left out."""
    kind = value.WhichOneof("type")
    if kind == "double_value":
        yield key, _with_interval(value.double_value.value, interval)
    elif kind == "bounded_value":
        bounded = value.bounded_value
        yield (
            key,
            TfmaValue(bounded.value.value, bounded.lower_bound.value, bounded.upper_bound.value),
        )
    elif kind == "t_distribution_value":
        yield key, _from_t_distribution(value.t_distribution_value)
    elif kind == "value_at_cutoffs":
        for item in value.value_at_cutoffs.values:
            yield _rename(key, f"{key.name}@top{item.cutoff}"), TfmaValue(item.value)
    elif kind == "confusion_matrix_at_thresholds":
        for matrix in value.confusion_matrix_at_thresholds.matrices[:100]:
            for name in (
                *("true_positives", "false_positives", "true_negatives", "false_negatives"),
                *("precision", "recall"),
            ):
                at = f"{name}@{matrix.threshold:g}"
                yield _rename(key, at), TfmaValue(getattr(matrix, name))
    elif kind == "array_value":
        array = value.array_value
        numbers = [
            *array.int32_values,
            *array.int64_values,
            *array.float32_values,
            *array.float64_values,
        ]
        if len(numbers) == 1:
            yield key, _with_interval(float(numbers[0]), interval)


def _rename(key: TfmaKey, name: str) -> TfmaKey:
    return TfmaKey(name, key.model, key.output, key.is_difference, key.is_weighted)


def _with_interval(value: float, interval: Message | None) -> TfmaValue:
    if interval is None:
        return TfmaValue(value)
    bounds = [
        bound.double_value.value if bound.WhichOneof("type") == "double_value" else math.nan
        for bound in (interval.lower_bound, interval.upper_bound)
    ]
    degrees = None
    if interval.HasField("degrees_of_freedom"):
        degrees = interval.degrees_of_freedom.value
    return TfmaValue(value, bounds[0], bounds[1], degrees)


def _from_t_distribution(value: Message) -> TfmaValue:
    """Return a value of older versions, which stored the standard error."""
    center = value.unsampled_value if value.HasField("unsampled_value") else value.sample_mean
    margin = _T_QUANTILE * value.sample_standard_deviation.value
    degrees = value.sample_degrees_of_freedom.value or None
    return TfmaValue(center.value, center.value - margin, center.value + margin, degrees)


def _format_bounds(threshold: Message) -> str:
    parts = []
    value, change = threshold.value_threshold, threshold.change_threshold
    if value.HasField("lower_bound"):
        parts.append(f">= {value.lower_bound.value:g}")
    if value.HasField("upper_bound"):
        parts.append(f"<= {value.upper_bound.value:g}")
    sign = "<=" if change.direction == 1 else ">="
    if change.HasField("absolute"):
        parts.append(f"change {sign} {change.absolute.value:g}")
    if change.HasField("relative"):
        parts.append(f"change {sign} {change.relative.value:.4g} of the baseline")
    return ", ".join(parts)
