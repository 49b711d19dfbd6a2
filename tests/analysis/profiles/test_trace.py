"""Formatting of durations."""

from __future__ import annotations

import pytest

from tracklight.analysis.profiles.trace import format_ms


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (3700.0, "3.7 s"),
        (1_234_567.0, "1235 s"),
        (1203.6, "1.2 s"),
        (999.6, "1000 ms"),
        (49.23, "49.2 ms"),
        (100.0, "100 ms"),
        (0.0, "0 ms"),
        (-12.345, "-12.3 ms"),
        (0.0384, "38.4 µs"),
        (0.00002, "20 ns"),
    ],
)
def test_formats_duration_in_most_readable_unit(ms: float, text: str) -> None:
    assert format_ms(ms) == text
