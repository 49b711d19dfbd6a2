"""Kinds of messages that current versions of TFMA do not write, or only in some configurations."""

from __future__ import annotations

import io
import math
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from tracklight.analysis.fairness.tfma import (
    TfmaKey,
    iter_messages,
    parse_config,
    parse_metrics,
    parse_plots,
    parse_validation,
)
from tracklight.errors import FormatError
from tracklight.formats import proto


def make_value(**fields: Any) -> Any:
    return proto.TfmaMetricValue(**fields)


def make_double(value: float) -> Any:
    return proto.TfmaDouble(value=value)


def read_metric(value: Any, interval: Any = None) -> dict[str, tuple[float, ...]]:
    message = proto.TfmaMetricsForSlice()
    item = message.metric_keys_and_values.add(value=value)
    item.key.name, item.key.model_name = b"loss", b"m"
    if interval is not None:
        item.confidence_interval.CopyFrom(interval)
    metrics = parse_metrics(message.SerializeToString()).metrics
    assert all(key.model == "m" for key in metrics)
    return {key.name: (v.value, v.lower, v.upper) for key, v in metrics.items()}


BOUNDED = proto.TfmaBoundedValue(
    value=make_double(0.5), lower_bound=make_double(0.25), upper_bound=make_double(0.75)
)
T_VALUE = proto.TfmaTDistributionValue(
    sample_mean=make_double(0.4),
    sample_standard_deviation=make_double(0.1),
    sample_degrees_of_freedom=proto.TfmaInt64(value=19),
)
UNSAMPLED = proto.TfmaTDistributionValue()
UNSAMPLED.CopyFrom(T_VALUE)
UNSAMPLED.unsampled_value.value = 0.5
CUTOFFS = proto.TfmaValueAtCutoffs(
    values=[proto.TfmaValueAtCutoff(cutoff=k, value=k / 10) for k in (1, 3)]
)
MATRICES = proto.TfmaConfusionMatrixAtThresholds(
    matrices=[
        proto.TfmaConfusionMatrixAtThreshold(
            threshold=0.25, true_positives=3, false_positives=1, true_negatives=4,
            false_negatives=2, precision=0.75, recall=0.6,
        )
    ]
)  # fmt: skip
NAN = math.nan


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"bounded_value": BOUNDED}, {"loss": (0.5, 0.25, 0.75)}),
        # TFMA uses 20 samples; 2.093 is the 97.5 % quantile of Student's t for 19 degrees.
        ({"t_distribution_value": T_VALUE}, {"loss": (0.4, 0.1907, 0.6093)}),
        ({"t_distribution_value": UNSAMPLED}, {"loss": (0.5, 0.2907, 0.7093)}),
        (
            {"value_at_cutoffs": CUTOFFS},
            {"loss@top1": (0.1, NAN, NAN), "loss@top3": (0.3, NAN, NAN)},
        ),
        (
            {"confusion_matrix_at_thresholds": MATRICES},
            {
                "true_positives@0.25": (3, NAN, NAN),
                "false_positives@0.25": (1, NAN, NAN),
                "true_negatives@0.25": (4, NAN, NAN),
                "false_negatives@0.25": (2, NAN, NAN),
                "precision@0.25": (0.75, NAN, NAN),
                "recall@0.25": (0.6, NAN, NAN),
            },
        ),
        ({"array_value": proto.TfmaArrayValue(int64_values=[7])}, {"loss": (7, NAN, NAN)}),
        ({"array_value": proto.TfmaArrayValue(float64_values=[7, 8])}, {}),
        ({"array_value": proto.TfmaArrayValue(bytes_values=[b"x"])}, {}),
        ({"bytes_value": b"id"}, {}),
        ({}, {}),
    ],
)
def test_kinds_of_values(value: Any, expected: dict[str, tuple[float, ...]]) -> None:
    found = read_metric(make_value(**value))
    assert list(found) == list(expected)
    for name, numbers in expected.items():
        assert found[name] == pytest.approx(numbers, nan_ok=True)


def test_bounds_that_are_no_numbers_are_missing() -> None:
    interval = proto.TfmaConfidenceInterval(
        lower_bound=make_value(bytes_value=b"x"),
        upper_bound=make_value(double_value=make_double(2)),
    )
    found = read_metric(make_value(double_value=make_double(1)), interval)
    assert found["loss"] == pytest.approx((1, NAN, 2), nan_ok=True)


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ({"bytes_value": b"a"}, "a"),
        ({"int64_value": -3}, "-3"),
        ({"float_value": 0.1}, "0.1"),
        ({"float_value": 2.5}, "2.5"),
        ({"float_value": 20.0}, "20"),
        ({"float_value": 12345678.0}, "12345678"),
        ({"float_value": 12345679.0}, "12345679"),
        ({"float_value": 0.30000001192092896}, "0.3"),
        ({"float_value": 0.30000004172325134}, "0.30000004"),
    ],
)
def test_values_of_slices(field: dict[str, Any], expected: str) -> None:
    message = proto.TfmaMetricsForSlice()
    message.slice_key.single_slice_keys.add(column=b"x", **field)
    assert parse_metrics(message.SerializeToString()).slice == (("x", expected),)


def test_plots_of_older_versions() -> None:
    message = proto.TfmaPlotsForSlice()
    message.plot_data.debug_message = b"too few examples"
    named = message.plots.add(key=b"head")
    matrices = named.value.multi_class_confusion_matrix_at_thresholds.matrices.add()
    for label, predicted in ((0, 1), (1, 5000), (-1, 0)):
        matrices.entries.add(
            actual_class_id=label, predicted_class_id=predicted, num_weighted_examples=2
        )
    named_plot, data = parse_plots(message.SerializeToString())
    assert (data.key, data.problem) == (TfmaKey(""), "too few examples")
    # Classes are rows of a matrix, which has a limit.
    assert (named_plot.key, named_plot.confusion) == (TfmaKey("head"), [(0, 1, 2)])


def test_bounds_of_failed_validations() -> None:
    message = proto.TfmaValidationResult()
    checks = message.metric_validations_per_slice.add()
    first, second = checks.failures.add(message=b"too low"), checks.failures.add()
    first.metric_threshold.value_threshold.lower_bound.value = 0.8
    first.metric_threshold.value_threshold.upper_bound.value = 0.9
    first.metric_value.double_value.value = 0.7
    second.metric_threshold.change_threshold.relative.value = 0.05
    second.metric_threshold.change_threshold.direction = 1
    message.missing_slices.add(slice_keys_sql=b"SELECT sex")
    crossed = message.missing_cross_slices.add()
    crossed.slicing_specs.add(feature_keys=[b"sex", b"age"])
    found = parse_validation(message.SerializeToString())
    assert [failure.bounds for failure in found.failures] == [
        ">= 0.8, <= 0.9", "change <= 0.05 of the baseline",
    ]  # fmt: skip
    assert found.failures[0].value == 0.7 and math.isnan(found.failures[1].value)
    assert found.failures[0].message == "too low"
    assert found.missing_slices == ["SELECT sex", "Overall__XX__sex_X_age"]


def test_slices_in_a_configuration() -> None:
    config = parse_config(
        b'{"eval_config": {"slicing_specs": [{}, {"feature_keys": ["a", "b"]}, 3,'
        b' {"featureValues": {"c": 1}}, {"sliceKeysSql": "SELECT d"}]}}'
    )
    assert config.slices == ["Overall", "a_X_b", "c:1", "SELECT d"]


@pytest.mark.parametrize("data", [b"[1]", b"{", b"[" * 100_000])
def test_configurations_that_are_no_objects(data: bytes) -> None:
    with pytest.raises(FormatError, match="is invalid or incomplete"):
        parse_config(data)


def write_parquet(columns: dict[str, Any]) -> io.BytesIO:
    stream = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), stream)
    stream.seek(0)
    return stream


def test_parquet_files_without_messages() -> None:
    with pytest.raises(FormatError, match='the Parquet file has no column "serialized_value"'):
        list(iter_messages(write_parquet({"other": [1]})))
    found = iter_messages(write_parquet({"serialized_value": [b"a", None, b"b"]}))
    assert list(found) == [b"a", b"b"]
