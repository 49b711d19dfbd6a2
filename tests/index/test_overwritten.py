from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.index.logs import open_catalog, point, points, start, write
from tracklight.index.run import SeriesPart, mark_overwritten


def part(
    file: int, steps: list[int], since: float = 0.0, session_start: int | None = None
) -> SeriesPart:
    step = np.array(steps, np.int64)
    wall = since + np.arange(len(steps), dtype=np.float64)
    rises = bool(np.all(np.diff(step) > 0))
    return SeriesPart(file, session_start, step, wall, rises, since)


def marks(*parts: SeriesPart) -> list[int]:
    return [int(mark) for mark in mark_overwritten(parts)]


def test_increasing_steps_are_not_overwritten() -> None:
    assert marks(part(0, [1, 2, 5])) == [0, 0, 0]


def test_repeated_steps_overwrite_earlier_points() -> None:
    assert marks(part(0, [1, 2, 3, 2, 3, 4])) == [0, 1, 1, 0, 0, 0]


def test_last_of_equal_steps_is_kept() -> None:
    assert marks(part(0, [0, 0, 0])) == [1, 1, 0]


def test_file_started_after_end_of_another_overwrites_it() -> None:
    assert marks(part(0, [1, 2, 3]), part(1, [3, 4], since=10)) == [0, 0, 1, 0, 0]


def test_concurrent_files_do_not_overwrite_each_other() -> None:
    assert marks(part(0, [1, 2, 3]), part(1, [1, 2, 3], since=1)) == [0, 0, 0, 0, 0, 0]


def test_restart_overwrites_from_its_step() -> None:
    assert marks(part(0, [1, 2, 3]), part(0, [], since=9, session_start=2)) == [0, 1, 1]


def test_restart_in_later_file_overwrites_earlier_file() -> None:
    later = part(1, [7], since=10, session_start=3)
    assert marks(part(0, [1, 2, 3, 4]), later) == [0, 0, 1, 1, 0]


def test_no_parts_give_no_marks() -> None:
    assert marks() == []


@given(st.lists(st.integers(-3, 6), max_size=30))
def test_single_file_matches_documented_rule(steps: list[int]) -> None:
    expected = [int(any(later <= s for later in steps[i + 1 :])) for i, s in enumerate(steps)]
    assert marks(part(0, steps)) == expected


@given(st.lists(st.lists(st.integers(0, 6), min_size=1, max_size=6), max_size=4))
def test_consecutive_files_are_like_one_file(files: list[list[int]]) -> None:
    together = [step for steps in files for step in steps]
    parts = [part(n, steps, since=100.0 * n) for n, steps in enumerate(files)]
    assert marks(*parts) == marks(part(0, together))


@pytest.mark.parametrize("gap", [0.0, 100.0])
def test_purge_step_overwrites_every_tag(tmp_path: Path, gap: float) -> None:
    first = points(range(5), tag="a") + points(range(5), tag="b")
    write(tmp_path, "run", first, name="tfevents.1")
    resumed = start(3) + points([3, 4, 5], tag="a", since=1.7e9 + 10 + gap)
    write(tmp_path, "run", resumed, name="tfevents.2")
    catalog = open_catalog(tmp_path)
    assert catalog.scalar("run", "a").without_overwritten().step.tolist() == [0, 1, 2, 3, 4, 5]
    assert catalog.scalar("run", "b").without_overwritten().step.tolist() == [0, 1, 2]


def test_keeps_points_without_wall_time(tmp_path: Path) -> None:
    nan = float("nan")
    write(tmp_path, "run", point(1, 1.0, wall=nan) + point(2, 2.0, wall=nan) + point(2, 3.0))
    series = open_catalog(tmp_path).scalar("run", "loss")
    assert series.value.tolist() == [1.0, 2.0, 3.0]
    assert series.overwritten.tolist() == [False, True, False]
