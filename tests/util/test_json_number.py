from __future__ import annotations

import msgspec
import numpy as np
import pytest

from tracklight.util.files import to_json_number, to_json_numbers

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("value", "text"), [(1.5, "1.5"), (NAN, '"NaN"'), (INF, '"Infinity"'), (-INF, '"-Infinity"')]
)
def test_number_round_trip(value: float, text: str) -> None:
    encoded = msgspec.json.encode(to_json_number(value))
    assert encoded.decode() == text
    assert np.array_equal(float(msgspec.json.decode(encoded)), value, equal_nan=True)


def test_array_round_trip() -> None:
    assert to_json_numbers(np.array([1.0, NAN, -INF])) == [1.0, "NaN", "-Infinity"]
    assert to_json_numbers(np.array([2**62, -1])) == [2**62, -1]
