"""A static export has some values of every series, within a limit on bytes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.analysis.media.conftest import Open
from tests.index import logs
from tracklight.analysis import media
from tracklight.analysis.media import (
    ByteBudget,
    StepsResponse,
    ValueRequest,
    export_values,
    value_path,
)
from tracklight.errors import FormatError
from tracklight.plugin import Blob, Context


def write_images(folder: Path, counts: dict[str, int]) -> None:
    for run, count in counts.items():
        logs.write(folder, run, b"".join(logs.picture(step, b"x") for step in range(count)))


def export(
    context: Context,
    runs: list[str],
    size_bytes: int = 100,
    unreadable: frozenset[int] = frozenset(),
) -> tuple[dict[str, list[int]], set[str]]:
    """Return the exported steps of each run, and the paths of values."""

    def export_value(request: ValueRequest) -> Iterator[tuple[str, object]]:
        if request.index in unreadable:
            raise FormatError("not an image")
        yield value_path("picture", request), Blob(bytes(size_bytes), "image/png")

    parts = dict(export_values(context, ("images",), runs, export_value))
    steps = parts.pop("steps/picture", StepsResponse("", []))
    assert isinstance(steps, StepsResponse)
    return {series.run: series.step.tolist() for series in steps.series}, set(parts)


def test_long_series_are_thinned(tmp_path: Path, open_log: Open) -> None:
    write_images(tmp_path, {"a": 100, "b": 3, "c": 1})
    steps, paths = export(open_log(tmp_path), ["a", "b"])
    assert len(steps["a"]) == media.MAX_EXPORTED_VALUES
    assert (steps["a"][0], steps["a"][-1]) == (0, 99)
    assert steps["b"] == [0, 1, 2]
    assert "c" not in steps
    assert len(paths) == media.MAX_EXPORTED_VALUES + 3
    assert all(path.startswith("picture?run=") for path in paths)


def test_unreadable_values_are_skipped(tmp_path: Path, open_log: Open) -> None:
    write_images(tmp_path, {"a": 4})
    steps, paths = export(open_log(tmp_path), ["a"], unreadable=frozenset({1, 3}))
    assert steps == {"a": [0, 2]}
    assert len(paths) == 2


def test_series_without_readable_values_is_skipped(tmp_path: Path, open_log: Open) -> None:
    write_images(tmp_path, {"a": 2})
    assert export(open_log(tmp_path), ["a"], unreadable=frozenset({0, 1})) == ({}, set())


def test_fewer_values_are_exported_if_they_are_large(
    tmp_path: Path, open_log: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_images(tmp_path, {"a": 9, "b": 9})
    monkeypatch.setattr(media, "ByteBudget", lambda series: ByteBudget(series, 1000))
    steps, paths = export(open_log(tmp_path), ["a", "b"], size_bytes=100)
    assert steps == {"a": [0, 2, 4, 6, 8], "b": [0, 2, 4, 6, 8]}
    assert len(paths) == 10
    steps, _ = export(open_log(tmp_path), ["a", "b"], size_bytes=600)
    assert steps == {"a": [8]}
