from __future__ import annotations

import os

import msgspec
import numpy as np
import pytest

from tracklight.server.wire import Json, column, file_row, number, readable, run_row, stamp_row
from tracklight.types import FileInfo, RunInfo, Stamp

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("value", "text"), [(1.5, "1.5"), (NAN, '"NaN"'), (INF, '"Infinity"'), (-INF, '"-Infinity"')]
)
def test_every_number_survives_json(value: float, text: str) -> None:
    encoded = msgspec.json.encode(number(value))
    assert encoded.decode() == text
    assert np.array_equal(float(msgspec.json.decode(encoded)), value, equal_nan=True)


def test_a_gap_is_not_a_number() -> None:
    values = np.array([1.0, NAN, NAN, -INF])
    filled = np.array([True, True, False, True])
    assert column(values, filled) == [1.0, "NaN", None, "-Infinity"]


def test_times_that_say_nothing_are_told_as_they_are() -> None:
    run = run_row(RunInfo("a", NAN, None, 1, 2, 3, 4, 5))
    assert (run.start_wall, run.last_wall) == ("NaN", None)
    stamp = stamp_row(Stamp(3, INF))
    assert stamp is not None and stamp.wall_time == "Infinity"


def test_names_that_are_not_unicode_can_be_sent() -> None:
    path = os.fsdecode(b"run/\xff\xfe.tfevents")
    assert readable(path) == r"run/\xff\xfe.tfevents"
    answer = Json(file_row("run", FileInfo(path, 1, 1, 0, ())))
    assert rb"run/\\xff\\xfe.tfevents" in answer.body
