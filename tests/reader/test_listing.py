from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tracklight
from tests import builders as b
from tests.small_log import NAME, write
from tracklight.cli.inspect import encode_listing, iter_listing_lines
from tracklight.logdir import escape_unprintable


def inspect(logdir: Any) -> Any:
    with tracklight.open(logdir, cache=False) as log:
        return json.loads(encode_listing(log, log.select()))["runs"]


def show(logdir: Path) -> str:
    with tracklight.open(logdir, cache=False) as log:
        return "\n".join(iter_listing_lines(log, log.select()))


def test_json_matches_the_documentation(small_logdir: Path) -> None:
    path = small_logdir / "run2/train" / NAME

    assert inspect(small_logdir)["run2/train"] == {
        "files": [
            {
                "path": f"run2/train/{NAME}",
                "bytes": path.stat().st_size,
                "records": 9,
                "damaged": 0,
                "damage": [],
            }
        ],
        "tags": {
            "count": {
                "plugin": "",
                "kind": "scalar",
                "count": 1,
                "overwritten": 0,
                "first": {"step": 2, "wall_time": 0.0},
                "last": {"step": 2, "wall_time": 0.0},
            },
            "loss": {
                "plugin": "scalars",
                "kind": "scalar",
                "count": 8,
                "overwritten": 2,
                "first": {"step": 0, "wall_time": 1.7e9},
                "last": {"step": 5, "wall_time": 1.7e9 + 5},
            },
        },
    }


def test_json_has_every_kind(small_logdir: Path) -> None:
    tags = inspect(small_logdir)["kinds"]["tags"]

    assert {tag: (it["plugin"], it["kind"]) for tag, it in tags.items()} == {
        "__run_graph__": ("graphs", "graph"),
        "clip": ("audio", "audio"),
        "matrix": ("", "tensor"),
        "mixed": ("", "scalar"),
        "picture": ("images", "image"),
        "spread": ("histograms", "histogram"),
        "words": ("text", "text"),
    }


def test_lists_corrupt_records_with_their_offset(tmp_path: Path) -> None:
    good = b.scalar("loss", 0, 1.0)
    write(tmp_path, good, b.flip(good, -1), good)

    (file,) = inspect(tmp_path)["."]["files"]

    assert file["damaged"] == 1
    assert file["damage"] == [{"offset": len(good), "bytes": len(good), "reason": "wrong checksum"}]
    assert f"byte {len(good)}: wrong checksum ({len(good)} bytes)" in show(tmp_path)


@pytest.mark.parametrize(
    ("wall", "expected"), [("nan", "NaN"), ("inf", "Infinity"), ("-inf", "-Infinity")]
)
def test_non_finite_times_are_strings(wall: str, expected: str, tmp_path: Path) -> None:
    event = b.event(b.summary(b.value("loss", b.simple(1.0))), step=0, wall=float(wall))
    write(tmp_path, b.record(event))

    assert inspect(tmp_path)["."]["tags"]["loss"]["last"] == {"step": 0, "wall_time": expected}
    assert wall in show(tmp_path)


def test_paths_are_relative_to_their_root(small_logdir: Path) -> None:
    runs = inspect({"a": small_logdir / "run2", "b": small_logdir})

    assert runs["a/train"]["files"][0]["path"] == f"train/{NAME}"
    assert runs["b/kinds"]["files"][0]["path"] == f"kinds/{NAME}"


@pytest.mark.parametrize(
    ("steps", "issues"),
    [
        ([0, 1, 2], ""),
        ([0, 1, 1], "1 overwritten, 1 repeated"),
        ([0, 5, 3, 4], "1 overwritten, 1 going back"),
        ([-2, -1, 0], "2 negative"),
    ],
)
def test_reports_step_issues(steps: list[int], issues: str, tmp_path: Path) -> None:
    write(tmp_path, *(b.scalar("loss", step, 1.0) for step in steps))

    (line,) = (line for line in show(tmp_path).splitlines() if line.startswith("  loss"))
    assert line.split(":")[-1][2:].strip() == issues


def test_lists_files_and_tags_of_a_run(small_logdir: Path) -> None:
    lines = show(small_logdir).splitlines()
    at = next(at for at, line in enumerate(lines) if line.startswith("run2/train"))

    assert lines[at].startswith("run2/train  (2 tags, 1 file, ")
    assert lines[at + 1].endswith("9 records")
    assert lines[at + 2].split()[:3] == ["tag", "plugin", "kind"]
    assert lines[at + 3].split()[:6] == ["count", "-", "scalar", "1", "2", "2"]
    assert lines[at + 4].split()[:6] == ["loss", "scalars", "scalar", "8", "0", "5"]


def test_lists_a_run_without_tags(tmp_path: Path) -> None:
    write(tmp_path)

    assert show(tmp_path).splitlines()[0] == ".  (0 tags, 1 file, 0 B)"


def test_escapes_control_characters(tmp_path: Path) -> None:
    write(tmp_path, b.scalar("evil\x1b[2J\n", 0, 1.0))

    assert "\x1b" not in show(tmp_path)
    assert r"evil\x1b[2J\n" in show(tmp_path)
    assert escape_unprintable("größe/λ 漢字") == "größe/λ 漢字"


def test_lists_a_log_with_many_unusual_runs(nasty_logdir: Path) -> None:
    runs = inspect(nasty_logdir)

    assert len(runs["many_tags"]["tags"]) >= 2000
    assert runs["garbage"]["files"][0]["damaged"] == 1
    assert len(show(nasty_logdir).splitlines()) > 2000
