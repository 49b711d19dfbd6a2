"""All steps of a tag are listed, with unique fingerprints."""

from __future__ import annotations

from pathlib import Path

from tests.analysis.media.conftest import Open
from tests.index import logs
from tracklight.analysis.media import StepsRequest, list_steps

TAG = "picture"


def write_images(tmp_path: Path, run: str, steps: list[int]) -> None:
    logs.write(tmp_path, run, b"".join(logs.picture(step, bytes([step])) for step in steps))


def test_lists_all_steps(tmp_path: Path, open_log: Open) -> None:
    write_images(tmp_path, "a", list(range(200)))
    write_images(tmp_path, "b", [5, 6])
    response = list_steps(open_log(tmp_path), StepsRequest([TAG]))
    assert {series.run: series.step.tolist() for series in response.series} == {
        "a": list(range(200)),
        "b": [5, 6],
    }


def test_lists_requested_runs_only(tmp_path: Path, open_log: Open) -> None:
    write_images(tmp_path, "a", [1])
    write_images(tmp_path, "b", [1])
    response = list_steps(open_log(tmp_path), StepsRequest([TAG], ["b", "nowhere"]))
    assert [series.run for series in response.series] == ["b"]


def test_overwritten_values_are_listed_on_request(tmp_path: Path, open_log: Open) -> None:
    write_images(tmp_path, "a", [1, 2, 3, 2, 3])
    context = open_log(tmp_path)
    (current,) = list_steps(context, StepsRequest([TAG])).series
    assert (current.step.tolist(), current.index.tolist()) == ([1, 2, 3], [0, 3, 4])
    (all_values,) = list_steps(context, StepsRequest([TAG], overwritten=True)).series
    assert all_values.step.tolist() == [1, 2, 3, 2, 3]


def test_fingerprints_are_unique_and_stable(tmp_path: Path, open_log: Open) -> None:
    write_images(tmp_path, "a", list(range(200)))
    fingerprints = [
        list_steps(open_log(tmp_path), StepsRequest([TAG])).series[0].fingerprint.tolist()
        for _ in range(2)
    ]
    assert fingerprints[0] == fingerprints[1]
    assert len(set(fingerprints[0])) == 200
