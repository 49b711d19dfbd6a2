"""`decode_histograms` matches `decode_value`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from tests import builders as b
from tracklight.errors import FormatError
from tracklight.formats import proto, summary
from tracklight.formats.values import TOTALS_COLUMNS, Histogram, decode_histograms, decode_value
from tracklight.types import Kind

NUMBERS = st.floats(width=64)


def make_legacy(limits: list[float], counts: list[float], low: float, high: float) -> bytes:
    value = proto.Value(tag=b"w")
    value.histo.min, value.histo.max, value.histo.num = low, high, sum(counts)
    value.histo.bucket_limit.extend(limits)
    value.histo.bucket.extend(counts)
    return bytes(value.SerializeToString())


def make_tensor(rows: list[tuple[float, float, float]], dtype: type = np.float64) -> bytes:
    array = np.array(rows, dtype).reshape(-1, 3)
    return bytes(summary.tensor("w", array).SerializeToString())


@st.composite
def values(draw: st.DrawFn) -> bytes:
    if draw(st.booleans()):
        limits = sorted(draw(st.lists(st.floats(-1e9, 1e9), max_size=8)))
        counts = [draw(st.floats(0, 100)) for _ in limits]
        return make_legacy(limits, counts, draw(NUMBERS), draw(NUMBERS))
    with np.errstate(over="ignore"):
        rows = draw(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), max_size=8))
        return make_tensor(rows, draw(st.sampled_from([np.float64, np.float32, np.float16])))


@settings(max_examples=60, deadline=None)
@given(st.lists(values(), max_size=6))
def test_matches_single_decoding(logged: list[bytes]) -> None:
    batch = decode_histograms(logged)
    assert len(batch) == len(logged)
    for place, data in enumerate(logged):
        own = slice(batch.starts[place], batch.starts[place + 1])
        one = decode_value(data, Kind.HISTOGRAM)
        assert isinstance(one, Histogram)
        assert_array_equal(batch.left[own], one.edges_left)
        assert_array_equal(batch.right[own], one.edges_right)
        assert_array_equal(batch.counts[own], one.counts)
        told = [getattr(one.totals, name, np.nan) for name in TOTALS_COLUMNS]
        assert_array_equal(batch.totals[place], told)


def test_counts_of_non_finite_numbers() -> None:
    data = summary.histogram("w", [1.0, 2.0, 2.0]).SerializeToString()
    content = proto.HistogramPluginData()
    content.totals.num, content.totals.nan, content.totals.negative_infinity = 3, 5, 2
    value = proto.parse("Value", data)
    value.metadata.plugin_data.content = content.SerializeToString()
    batch = decode_histograms([value.SerializeToString()])
    assert dict(zip(TOTALS_COLUMNS, batch.totals[0].tolist(), strict=True)) == {
        "min": 0, "max": 0, "num": 3, "sum": 0, "sum_squares": 0,
        "nan": 5, "positive_infinity": 0, "negative_infinity": 2,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (make_tensor([]) + b"\x00", "field 0"),
        (
            bytes(summary.tensor("w", np.ones((2, 2))).SerializeToString()),
            "not a histogram",
        ),
        (make_legacy([1.0], [1.0, 2.0, 3.0], 0, 9), "3 buckets, but 1 edges"),
        (b.single(2, 1.0), "not a histogram"),
    ],
)
def test_invalid_histogram_is_reported(data: Any, what: str) -> None:
    with pytest.raises(FormatError):
        decode_value(data, Kind.HISTOGRAM)
    good = make_tensor([(0, 1, 5)])
    batch = decode_histograms([good, data, None, good])
    assert np.diff(batch.starts).tolist() == [1, 0, 0, 1]
    assert batch.errors.keys() == {1}
    if "field" not in what:
        assert what in str(batch.errors[1])
