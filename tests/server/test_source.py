from __future__ import annotations

import os

from tracklight.server.responses import JsonResponse
from tracklight.server.source import make_file_row, make_run_row, make_stamp_row, to_valid_unicode
from tracklight.types import FileInfo, RunInfo, Stamp

NAN, INF = float("nan"), float("inf")


def test_non_finite_times_are_strings() -> None:
    run = make_run_row(RunInfo("a", NAN, None, 1, 2, 3, 4, 5))
    assert (run.start_wall, run.last_wall) == ("NaN", None)
    stamp = make_stamp_row(Stamp(3, INF))
    assert stamp is not None and stamp.wall_time == "Infinity"


def test_file_names_that_are_not_utf8_are_escaped() -> None:
    path = os.fsdecode(b"run/\xff\xfe.tfevents")
    assert to_valid_unicode(path) == r"run/\xff\xfe.tfevents"
    response = JsonResponse(make_file_row("run", FileInfo(path, 1, 1, 0, ())))
    assert rb"run/\\xff\\xfe.tfevents" in response.body
