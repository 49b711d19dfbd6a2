"""Every step of a tag is listed, and each value has a name of its own."""

from __future__ import annotations

from pathlib import Path

from tests.analysis.media.conftest import Open
from tests.index import logs
from tracklight.analysis.media.values import StepsRequest, list_steps

TAG = "picture"


def _write(tmp_path: Path, run: str, steps: list[int]) -> None:
    logs.write(tmp_path, run, b"".join(logs.picture(step, bytes([step])) for step in steps))


def test_no_step_is_left_out(tmp_path: Path, open_log: Open) -> None:
    _write(tmp_path, "a", list(range(200)))
    _write(tmp_path, "b", [5, 6])
    answer = list_steps(open_log(tmp_path), StepsRequest([TAG]))
    assert {series.run: series.step.tolist() for series in answer.series} == {
        "a": list(range(200)),
        "b": [5, 6],
    }


def test_only_the_runs_that_were_asked_for(tmp_path: Path, open_log: Open) -> None:
    _write(tmp_path, "a", [1])
    _write(tmp_path, "b", [1])
    answer = list_steps(open_log(tmp_path), StepsRequest([TAG], ["b", "nowhere"]))
    assert [series.run for series in answer.series] == ["b"]


def test_values_that_were_written_over_are_asked_for_by_name(
    tmp_path: Path, open_log: Open
) -> None:
    _write(tmp_path, "a", [1, 2, 3, 2, 3])
    context = open_log(tmp_path)
    (current,) = list_steps(context, StepsRequest([TAG])).series
    assert (current.step.tolist(), current.index.tolist()) == ([1, 2, 3], [0, 3, 4])
    (every,) = list_steps(context, StepsRequest([TAG], overwritten=True)).series
    assert every.step.tolist() == [1, 2, 3, 2, 3]


def test_marks_tell_values_apart_and_last(tmp_path: Path, open_log: Open) -> None:
    _write(tmp_path, "a", list(range(200)))
    marks = [
        list_steps(open_log(tmp_path), StepsRequest([TAG])).series[0].mark.tolist()
        for _ in range(2)
    ]
    assert marks[0] == marks[1]
    assert len(set(marks[0])) == 200
