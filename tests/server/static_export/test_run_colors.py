"""Runs of an export have the colors that the page gives them in the whole log."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tracklight.server.source import RunRow
from tracklight.server.static_export import RUN_COLORS, assign_run_colors

#: Computed by the page; `web/src/lib/run-names-and-colors.test.ts` checks it.
_ROOT = Path(__file__).parents[3]
FIXTURE = json.loads((_ROOT / "web/src/lib/run-colors.fixture.json").read_text("utf-8"))


def make_row(name: str, start: float | str | None) -> RunRow:
    return RunRow(name, start, None, 1, 0, 1, 1, 0)


def assign(names_by_age: Sequence[str]) -> dict[str, str]:
    rows = [make_row(name, float(age)) for age, name in enumerate(names_by_age)]
    return assign_run_colors(sorted(rows, key=lambda row: row.name))


def test_matches_the_page() -> None:
    names = ["b/train", "a", "b/validation", "lr=0.001", "lr=0.01", "lr=0.1", "x10", "x007"]
    names += ["模型/1", "seed0", "seed00", "conv_val", "big-1234567890"]
    assert assign(names) == FIXTURE


def test_only_the_oldest_runs_have_a_color() -> None:
    names = [f"run{number}" for number in range(30)]
    colors = assign(names)
    assert sorted(colors.values()) == sorted(RUN_COLORS)
    assert "run29" not in colors


def test_runs_without_a_start_are_the_oldest() -> None:
    colors = assign_run_colors([make_row("a", 1.0), make_row("b", None), make_row("c", "NaN")])
    assert colors == assign(["c", "b", "a"])
