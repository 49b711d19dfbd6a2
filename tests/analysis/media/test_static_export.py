"""A copy carries some values of every series, and never too many bytes of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.analysis.media.conftest import Open
from tests.index import logs
from tracklight.analysis.media import static_export
from tracklight.analysis.media.static_export import export_values, value_path
from tracklight.analysis.media.values import StepsResponse, ValueRequest
from tracklight.errors import FormatError
from tracklight.plugin import Blob, Context


def write_pictures(folder: Path, counts: dict[str, int]) -> None:
    for run, count in counts.items():
        logs.write(folder, run, b"".join(logs.picture(step, b"x") for step in range(count)))


def copy(
    context: Context, runs: list[str], size_bytes: int = 100, bad: frozenset[int] = frozenset()
) -> tuple[dict[str, list[int]], set[str]]:
    """The steps carried of each run, and the addresses of values."""

    def copy_value(ask: ValueRequest) -> Iterator[tuple[str, object]]:
        if ask.index in bad:
            raise FormatError("no picture")
        yield value_path("picture", ask), Blob(bytes(size_bytes), "image/png")

    parts = dict(export_values(context, ("images",), runs, copy_value))
    steps = parts.pop("steps/picture", StepsResponse("", []))
    assert isinstance(steps, StepsResponse)
    return {series.run: series.step.tolist() for series in steps.series}, set(parts)


def test_long_series_are_thinned_and_short_ones_whole(tmp_path: Path, open_log: Open) -> None:
    write_pictures(tmp_path, {"a": 100, "b": 3, "c": 1})
    steps, paths = copy(open_log(tmp_path), ["a", "b"])
    assert len(steps["a"]) == static_export.MAX_EXPORTED_VALUES
    assert (steps["a"][0], steps["a"][-1]) == (0, 99)
    assert steps["b"] == [0, 1, 2]
    assert "c" not in steps
    assert len(paths) == static_export.MAX_EXPORTED_VALUES + 3
    assert all(path.startswith("picture?run=") for path in paths)


def test_a_value_that_cannot_be_read_is_left_out(tmp_path: Path, open_log: Open) -> None:
    write_pictures(tmp_path, {"a": 4})
    steps, paths = copy(open_log(tmp_path), ["a"], bad=frozenset({1, 3}))
    assert steps == {"a": [0, 2]}
    assert len(paths) == 2


def test_nothing_is_carried_of_what_cannot_be_read(tmp_path: Path, open_log: Open) -> None:
    write_pictures(tmp_path, {"a": 2})
    assert copy(open_log(tmp_path), ["a"], bad=frozenset({0, 1})) == ({}, set())


def test_large_values_are_carried_in_smaller_numbers(
    tmp_path: Path, open_log: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_pictures(tmp_path, {"a": 9, "b": 9})
    monkeypatch.setattr(
        static_export, "ByteBudget", lambda series: static_export.ByteBudget(series, 1000)
    )
    steps, paths = copy(open_log(tmp_path), ["a", "b"], size_bytes=100)
    assert steps == {"a": [0, 2, 4, 6, 8], "b": [0, 2, 4, 6, 8]}
    assert len(paths) == 10
    steps, _ = copy(open_log(tmp_path), ["a", "b"], size_bytes=600)
    assert steps == {"a": [8]}
