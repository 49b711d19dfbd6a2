"""Build ``Summary.Value`` messages with the same fields as ``torch.utils.tensorboard``.

Scalars, tensors, text, audio, layouts, meshes, histograms, precision-recall curves, and the three
values that describe a session with hyperparameters. All functions raise `ArgumentError` for data
that cannot be logged.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.formats import proto
from tracklight.formats.hparams import (
    EXPERIMENT_TAG,
    SESSION_END_TAG,
    SESSION_START_TAG,
    HParamType,
    HParamValue,
    Status,
    iter_flattened,
)
from tracklight.formats.media import encode_wav
from tracklight.formats.proto import Message
from tracklight.formats.summary import MeshContent
from tracklight.formats.tensor import DType, encode_tensor
from tracklight.hparams.session import as_hparam_value
from tracklight.writer import as_array, as_number, as_numbers, has_nan
from tracklight.writer import values as writer_values
from tracklight.writer.values import (
    HistogramCounts,
    acquire_copy,
    compute_exponential_histogram,
    compute_exponential_limits,
    release_copy,
)
from tracklight.writer.warnings import ArgumentError, warn_or_raise

Floats = NDArray[np.float64]

#: PyTorch's limit, which keeps curves identical.
MAX_THRESHOLDS = 127

_MAX_AMPLITUDE = np.iinfo(np.int16).max
#: Replaces zero denominators of precision and recall.
_MIN_COUNT = 1e-7
#: TensorProto fields by dtype. Other types are stored as bytes, because no reader understands the
#: form in which PyTorch stores them.
_TENSOR_FIELDS = {
    "float32": (DType.FLOAT, "float_val"),
    "float64": (DType.DOUBLE, "double_val"),
    "int8": (DType.INT8, "int_val"),
    "int16": (DType.INT16, "int_val"),
    "int32": (DType.INT32, "int_val"),
    "int64": (DType.INT64, "int64_val"),
    "bool": (DType.BOOL, "bool_val"),
    "complex64": (DType.COMPLEX64, "scomplex_val"),
    "complex128": (DType.COMPLEX128, "dcomplex_val"),
}


def build_metadata(plugin: str, content: Message | None = None) -> Message:
    """Build metadata without a data class, which is implied by the plugin."""
    data = b"" if content is None else content.SerializeToString()
    plugin_data = proto.PluginData(plugin_name=plugin.encode(), content=data)
    return proto.SummaryMetadata(plugin_data=plugin_data)


def build_scalar(tag: str, value: Any, is_double: bool) -> Message:
    """Build a number in the TensorFlow 2 format."""
    number = as_number(value, "scalar_value")
    tensor = (
        proto.TensorProto(dtype=DType.DOUBLE, double_val=[number])
        if is_double
        else proto.TensorProto(dtype=DType.FLOAT, float_val=[number])
    )
    return proto.Value(tag=tag.encode(), tensor=tensor, metadata=build_metadata("scalars"))


def build_tensor(tag: str, tensor: Any) -> Message:
    array = as_array(tensor, "tensor")
    if array.nbytes > writer_values.MAX_TENSOR_BYTES:
        raise ArgumentError(
            "tensor", f"has {array.nbytes} bytes; the maximum is {writer_values.MAX_TENSOR_BYTES}"
        )
    field = _TENSOR_FIELDS.get(array.dtype.name)
    message = encode_tensor(array) if field is None else _build_tensor_proto(*field, array)
    return proto.Value(tag=tag.encode(), tensor=message, metadata=build_metadata("tensor"))


def build_text(tag: str, text: Any) -> Message:
    if not isinstance(text, str):
        warn_or_raise("text_string", f"must be a str, not a {type(text).__name__}")
        text = str(text)
    data = text.encode("utf-8", "replace")
    if len(data) > writer_values.MAX_TEXT_BYTES:
        raise ArgumentError(
            "text_string", f"has {len(data)} bytes; the maximum is {writer_values.MAX_TEXT_BYTES}"
        )
    message = proto.TensorProto(dtype=DType.STRING, tensor_shape=_build_shape(1), string_val=[data])
    metadata = build_metadata("text", proto.TextPluginData())
    return proto.Value(tag=f"{tag}/text_summary".encode(), tensor=message, metadata=metadata)


def build_audio(tag: str, clip: Any, sample_rate: Any) -> Message:
    samples = as_numbers(clip, "snd_tensor").squeeze()
    rate = int(as_number(sample_rate, "sample_rate"))
    # PyTorch appends the second channel to the first; tensorboardX writes stereo, as here.
    channels = 2 if samples.ndim == 2 and samples.shape[1] == 2 else 1
    if samples.ndim != channels or not samples.size:
        shapes = "expected [1, samples], or [samples, 2] for stereo"
        raise ArgumentError("snd_tensor", f"has shape {list(np.shape(clip))}; {shapes}")
    audio = proto.Audio(
        sample_rate=rate,
        num_channels=channels,
        length_frames=len(samples),
        encoded_audio_string=encode_wav(_as_int16(samples), rate),
        content_type=b"audio/wav",
    )
    return proto.Value(tag=tag.encode(), audio=audio)


def build_layout(tag: str, layout: Any) -> Message:
    value = writer_values.build_layout(layout)
    value.metadata.ClearField("data_class")
    return value


def build_mesh(
    tag: str, vertices: Any, colors: Any, faces: Any, config: Mapping[str, Any] | None
) -> list[Message]:
    arguments = {
        MeshContent.VERTEX: ("vertices", vertices),
        MeshContent.FACE: ("faces", faces),
        MeshContent.COLOR: ("colors", colors),
    }
    parts = {
        part: _as_triples(array, argument)
        for part, (argument, array) in arguments.items()
        if array is not None
    }
    components = sum(1 << part for part in parts)
    return [_build_mesh_part(tag, part, parts[part], components, config) for part in parts]


def _build_mesh_part(
    tag: str,
    part: MeshContent,
    array: NDArray[Any],
    components: int,
    config: Mapping[str, Any] | None,
) -> Message:
    content = proto.MeshPluginData(
        name=tag.encode(),
        content_type=part,
        json_config=json.dumps(config or {}, sort_keys=True).encode(),
        shape=array.shape,
        components=components,
    )
    tensor = _build_tensor_proto(DType.FLOAT, "float_val", array)
    part_tag = f"{tag}_{part.name}".encode()
    return proto.Value(tag=part_tag, tensor=tensor, metadata=build_metadata("mesh", content))


def _build_tensor_proto(dtype: DType, field: str, array: NDArray[Any]) -> Message:
    """Build a tensor with its numbers in the repeated field of their type."""
    flat = array.reshape(-1)
    if flat.dtype.kind == "c":
        flat = flat.view(flat.real.dtype)
    numbers = {field: flat.tolist()}
    return proto.TensorProto(dtype=dtype, tensor_shape=_build_shape(*array.shape), **numbers)


def build_float_tensor(array: NDArray[Any]) -> Message:
    """Build a float32 tensor from numbers of any type."""
    return _build_tensor_proto(DType.FLOAT, "float_val", array)


def _build_shape(*sizes: int) -> Message:
    return proto.TensorShapeProto(dim=[proto.Dim(size=size) for size in sizes])


def _as_int16(samples: NDArray[Any]) -> NDArray[np.int16]:
    if samples.dtype == np.int16:
        return samples
    if has_nan(samples):
        warn_or_raise("snd_tensor", "contains NaN, which was replaced by silence")
        samples = np.nan_to_num(samples, nan=0.0)
    if np.abs(samples).max() > 1:
        warn_or_raise("snd_tensor", "has values outside of [-1, 1], which were clipped")
        samples = samples.clip(-1, 1)
    return (samples * _MAX_AMPLITUDE).astype(np.int16)


def _as_triples(data: Any, argument: str) -> NDArray[Any]:
    array = as_numbers(data, argument)
    if array.ndim != 3 or array.shape[-1] != 3:
        raise ArgumentError(argument, f"has shape {list(array.shape)}; expected [batch, n, 3]")
    return array


def make_default_bins() -> list[float]:
    """Return the edges of ``bins="tensorflow"``."""
    limits = compute_exponential_limits()
    return [*(-limits[::-1]).tolist(), 0, *limits.tolist()]


def defer_histogram(
    tag: str, values: Any, bins: Any, max_bins: Any
) -> tuple[Callable[[], Message], int]:
    """Check and copy the numbers, so that the writer thread can build the histogram later.

    Returns:
        A function that builds the message, to be called once, and the number of bytes that it
        keeps in memory.
    """
    numbers = _copy_finite(values)
    if isinstance(bins, str) and bins == "tensorflow" and max_bins is None:

        def build() -> Message:
            counts = compute_exponential_histogram(numbers)
            release_copy(numbers)
            return _build_histogram_value(tag, counts)

        return build, numbers.nbytes
    counts = _compute_counts(numbers.astype(np.float64), bins, max_bins)
    value = _build_histogram_value(tag, counts)
    return lambda: value, 0


def build_raw_histogram(tag: str, totals: dict[str, Any], limits: Any, counts: Any) -> Message:
    """Build a histogram from statistics, upper limits of buckets and their counts."""
    edges = as_numbers(limits, "bucket_limits").reshape(-1)
    bucket = as_numbers(counts, "bucket_counts").reshape(-1)
    if edges.size != bucket.size:
        raise ArgumentError(
            "bucket_limits", f"has {edges.size} entries for {bucket.size} bucket_counts"
        )
    numbers = {name: as_number(value, name) for name, value in totals.items()}
    histogram = proto.HistogramProto(bucket_limit=edges.tolist(), bucket=bucket.tolist(), **numbers)
    return proto.Value(tag=tag.encode(), histo=histogram)


def _copy_finite(values: Any) -> NDArray[Any]:
    """Return a copy of the finite numbers; warn about others."""
    # Checked before copying: the copy is not in the caches of the processor.
    numbers = as_numbers(values, "values")
    if not numbers.size:
        raise ArgumentError("values", "is empty; a histogram needs at least one number")
    if np.isfinite(numbers.min()) and np.isfinite(numbers.max()):
        return acquire_copy(numbers).reshape(-1)
    finite: NDArray[Any] = numbers[np.isfinite(numbers)]
    if not finite.size:
        raise ArgumentError("values", "contains no finite numbers")
    others = numbers.size - finite.size
    warn_or_raise("values", f"contains {others} NaN or infinite numbers, which were omitted")
    return finite


def _compute_counts(finite: Floats, bins: Any, max_bins: Any) -> HistogramCounts:
    if isinstance(bins, str) and bins == "tensorflow":
        bins = make_default_bins()
    counts, edges = np.histogram(finite, bins)
    if max_bins is not None and len(counts) > max_bins:
        counts, edges = _merge_buckets(counts, edges, int(max_bins))
    used = np.flatnonzero(counts)
    if not used.size:
        raise ArgumentError("bins", "does not contain any of the values")
    first, last = used[0], used[-1]
    return HistogramCounts(
        # Only right edges are written; an empty first bucket provides the first left edge.
        edges=edges[[first, *range(first, last + 2)]].astype(np.float64),
        counts=np.array([0, *counts[first : last + 1]], np.float64),
        min=float(finite.min()),
        max=float(finite.max()),
        num=finite.size,
        sum=float(finite.sum()),
        sum_squares=float(np.einsum("i,i->", finite, finite)),
    )


def _merge_buckets(
    counts: NDArray[Any], edges: NDArray[Any], max_bins: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Merge groups of adjacent buckets; the last group may be smaller."""
    size = len(counts) // max_bins
    merged = np.add.reduceat(counts, np.arange(0, len(counts), size))
    return merged, np.append(edges[:-1:size], edges[-1])


def _build_histogram_value(tag: str, counts: HistogramCounts) -> Message:
    histogram = proto.HistogramProto(
        min=counts.min,
        max=counts.max,
        num=counts.num,
        sum=counts.sum,
        sum_squares=counts.sum_squares,
        bucket_limit=counts.edges[1:].tolist(),
        bucket=counts.counts.tolist(),
    )
    return proto.Value(tag=tag.encode(), histo=histogram)


def build_pr_curve(
    tag: str, labels: Any, predictions: Any, num_thresholds: Any, weights: Any
) -> Message:
    truth = as_numbers(labels, "labels").reshape(-1).astype(np.float64)
    scores = _as_scores(predictions)
    weight = np.ones(1) if weights is None else as_numbers(weights, "weights").reshape(-1)
    if truth.shape != scores.shape or weight.size not in (1, truth.size):
        sizes = f"{truth.size} labels, {scores.size} predictions, {weight.size} weights"
        raise ArgumentError("predictions", f"must match labels and weights in size: {sizes}")
    count = _as_threshold_count(num_thresholds)
    # In the precision of the scores: otherwise scores at an edge would change buckets.
    bucket = np.floor(scores * (count - 1)).astype(np.int64)
    positives = _count_at_thresholds(bucket, truth * weight, count)
    negatives = _count_at_thresholds(bucket, (1.0 - truth) * weight, count)
    return _build_pr_curve_value(tag, _compute_curve_rows(positives, negatives), count)


def build_raw_pr_curve(tag: str, rows: dict[str, Any], num_thresholds: Any) -> Message:
    """Build a curve from true and false positives and negatives, precision and recall."""
    arrays = {name: as_numbers(row, name).reshape(-1) for name, row in rows.items()}
    if len({array.size for array in arrays.values()}) != 1:
        sizes = {name: array.size for name, array in arrays.items()}
        raise ArgumentError("true_positive_counts", f"and the other arrays differ in size: {sizes}")
    return _build_pr_curve_value(
        tag, np.stack(list(arrays.values())), _as_threshold_count(num_thresholds)
    )


def _count_at_thresholds(bucket: NDArray[np.int64], weight: Floats, count: int) -> Floats:
    """Return for every threshold the total weight of the scores that reach it."""
    totals: Floats = np.bincount(bucket, weight, count)[::-1].cumsum()[::-1]
    return totals


def _compute_curve_rows(positives: Floats, negatives: Floats) -> Floats:
    missed = positives[0] - positives
    precision = positives / np.maximum(_MIN_COUNT, positives + negatives)
    recall = positives / np.maximum(_MIN_COUNT, positives + missed)
    return np.stack([positives, negatives, negatives[0] - negatives, missed, precision, recall])


def _build_pr_curve_value(tag: str, rows: NDArray[Any], count: int) -> Message:
    metadata = build_metadata("pr_curves", proto.PrCurvePluginData(num_thresholds=count))
    return proto.Value(tag=tag.encode(), tensor=build_float_tensor(rows), metadata=metadata)


def _as_scores(predictions: Any) -> NDArray[Any]:
    scores = as_numbers(predictions, "predictions").reshape(-1)
    if not np.isfinite(scores).all():
        raise ArgumentError("predictions", "must be in [0, 1], but contains NaN or infinite values")
    if scores.size and (scores.min() < 0 or scores.max() > 1):
        warn_or_raise("predictions", "must be in [0, 1]; they were clipped")
        return np.clip(scores, 0, 1)
    return scores


def _as_threshold_count(num_thresholds: Any) -> int:
    count = as_number(num_thresholds, "num_thresholds")
    if count != int(count) or count < 2:
        raise ArgumentError("num_thresholds", f"must be an int of at least 2, not {count:g}")
    return min(int(count), MAX_THRESHOLDS)


# ---- hyperparameters


def build_session(
    hparams: Mapping[str, Any], metrics: Mapping[str, Any], domains: Mapping[str, Any] | None
) -> list[Message]:
    """Return the values of experiment, session start and session end, to be logged one by one.

    Raises:
        ArgumentError: An argument is not a dict, or a domain does not fit its hyperparameter.
    """
    values = {
        name: as_hparam_value(name, value)
        for name, value in iter_flattened(_check_mapping("hparam_dict", hparams))
        if value is not None
    }
    tags = list(map(str, _check_mapping("metric_dict", metrics)))
    discrete = _check_domains(domains, values)
    return [
        build_experiment(values, tags, discrete),
        build_session_start(values),
        build_session_end(Status.SUCCESS),
    ]


def build_experiment(
    hparams: Mapping[str, HParamValue],
    metrics: list[str],
    domains: Mapping[str, list[HParamValue]],
) -> Message:
    infos = [_build_hparam_info(name, hparams[name], domains.get(name)) for name in hparams]
    names = [proto.MetricInfo(name=proto.MetricName(tag=tag.encode())) for tag in metrics]
    experiment = proto.Experiment(hparam_infos=infos, metric_infos=names)
    return _build_hparams_value(EXPERIMENT_TAG, proto.HParamsPluginData(experiment=experiment))


def build_session_start(hparams: Mapping[str, HParamValue]) -> Message:
    pairs = [
        proto.HParam(key=name.encode(), value=_build_hparam_value(value))
        for name, value in hparams.items()
    ]
    start = proto.SessionStartInfo(hparams=pairs)
    return _build_hparams_value(
        SESSION_START_TAG, proto.HParamsPluginData(session_start_info=start)
    )


def build_session_end(status: Status) -> Message:
    end = proto.SessionEndInfo(status=status)
    return _build_hparams_value(SESSION_END_TAG, proto.HParamsPluginData(session_end_info=end))


def _build_hparams_value(tag: str, content: Message) -> Message:
    return proto.Value(tag=tag.encode(), metadata=build_metadata("hparams", content))


def _build_hparam_info(name: str, value: HParamValue, domain: list[HParamValue] | None) -> Message:
    hparam_type = HParamType.STRING if isinstance(value, str) else HParamType.FLOAT64
    info = proto.HParamInfo(name=name.encode(), type=hparam_type)
    if domain is not None:
        info.domain_discrete.values.extend(map(_build_hparam_value, domain))
    return info


def _build_hparam_value(value: HParamValue) -> Message:
    if isinstance(value, str):
        return proto.HParamValue(string_value=value.encode("utf-8", "replace"))
    # Bools as well: PyTorch tests for numbers first, and bool is a subclass of int.
    return proto.HParamValue(number_value=float(value))


def _check_mapping(argument: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ArgumentError(argument, f"must be a dict, not a {type(value).__name__}")
    return value


def _check_domains(
    domains: Mapping[str, Any] | None, values: Mapping[str, HParamValue]
) -> dict[str, list[HParamValue]]:
    checked = {}
    for name, domain in _check_mapping("hparam_domain_discrete", domains or {}).items():
        value_type = type(values.get(name))
        if not isinstance(domain, list) or not all(isinstance(item, value_type) for item in domain):
            expected = f'a list of {value_type.__name__} for "{name}", the type in hparam_dict'
            raise ArgumentError("hparam_domain_discrete", f"must contain {expected}")
        checked[name] = domain
    return checked
