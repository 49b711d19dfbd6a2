from __future__ import annotations

import sys
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest

from tracklight.errors import MissingDependencyError, UsageError
from tracklight.reader import Table
from tracklight.types import Series


def make_series(run: str, tag: str, *values: float, dtype: type = np.float64) -> Series:
    count = len(values)
    marks = np.arange(count) == 0
    steps = np.arange(count)
    return Series(run, tag, steps, steps + 1.7e9, np.array(values, dtype), marks)


SERIES = [
    make_series("a", "loss", 0.5, np.nan),
    make_series("a", "empty"),
    make_series("b", "loss", np.inf),
]

START = datetime(2023, 11, 14, 22, 13, 20, tzinfo=timezone.utc)
ROWS = [
    ("a", "loss", 0, START, 0.5, True),
    ("a", "loss", 1, START + timedelta(seconds=1), None, False),
    ("b", "loss", 0, START, np.inf, True),
]


def test_columns_are_arrays() -> None:
    table = Table(SERIES, overwritten=True)

    assert len(table) == 3
    assert table.columns == ("run", "tag", "step", "wall_time", "value", "overwritten")
    assert table["run"].tolist() == ["a", "a", "b"]
    assert table["step"].tolist() == [0, 1, 0]
    assert repr(table).startswith("<Table of 3 points")
    assert "overwritten" not in Table(SERIES).columns


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ([np.int64, np.int64], np.int64),
        ([np.uint64], np.uint64),
        ([np.int64, np.float64], np.float64),
        ([np.int64, np.uint64], np.float64),
        ([], np.float64),
    ],
)
def test_integers_stay_integers(kinds: list[type], expected: type) -> None:
    table = Table([make_series("a", "x", 1, dtype=kind) for kind in kinds])

    assert table["value"].dtype == expected


def test_to_pandas() -> None:
    pytest.importorskip("pandas")
    frame = Table(SERIES, overwritten=True).to_pandas()

    assert frame["run"].dtype == "category"
    assert str(frame["wall_time"].dtype) == "datetime64[us, UTC]"
    assert frame.astype(object).where(frame.notna(), None).to_records(index=False).tolist() == ROWS


def test_to_polars() -> None:
    pytest.importorskip("polars")
    frame = Table(SERIES, overwritten=True).to_polars()

    assert frame.columns == list(Table(SERIES, overwritten=True).columns)
    assert frame.fill_nan(None).rows() == ROWS


def test_to_arrow() -> None:
    pytest.importorskip("pyarrow")
    table = Table(SERIES, overwritten=True).to_arrow()

    rows = [tuple(row.values()) for row in table.to_pylist()]
    assert [[None if v != v else v for v in row] for row in rows] == [list(row) for row in ROWS]
    assert str(table.schema.field("tag").type).startswith("dictionary")


@pytest.mark.parametrize("method", ["to_pandas", "to_polars", "to_arrow"])
def test_empty_table_has_columns(method: str) -> None:
    pytest.importorskip({"to_arrow": "pyarrow"}.get(method, method.removeprefix("to_")))
    made = getattr(Table([]), method)()

    assert made.shape == (0, 5)


@pytest.mark.parametrize(
    ("method", "module", "extra"),
    [
        ("to_pandas", "pandas", "pandas"),
        ("to_polars", "polars", "polars"),
        ("to_arrow", "pyarrow", "arrow"),
    ],
)
def test_names_the_missing_extra(
    method: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(MissingDependencyError, match=rf"tracklight\[{extra}\]"):
        getattr(Table(SERIES), method)()


def test_missing_wall_times_are_null_in_other_libraries() -> None:
    pytest.importorskip("pandas")
    series = make_series("a", "loss", 1, 2, 3, 4)
    series.wall_time[:] = [np.nan, np.inf, -1e300, 1.7e9]
    table = Table([series])

    assert table["wall_time"][3] == 1.7e9
    assert table.to_pandas()["wall_time"].isna().tolist() == [True, True, True, False]
    assert table.to_polars()["wall_time"].is_null().to_list() == [True, True, True, False]
    assert table.to_arrow()["wall_time"].is_null().to_pylist() == [True, True, True, False]


def test_escapes_run_names_that_are_not_unicode() -> None:
    pytest.importorskip("polars")
    table = Table([make_series("caf\udce9", "loss", 1)])

    assert table["run"].tolist() == ["caf\udce9"]
    assert table.to_polars()["run"].to_list() == ["caf\\udce9"]
    assert table.to_arrow()["run"].to_pylist() == ["caf\\udce9"]


def test_error_names_the_most_similar_column() -> None:
    with pytest.raises(KeyError, match='no column "vale"; did you mean "value"'):
        Table(SERIES)["vale"]


def make_current(run: str, tag: str, steps: list[int], values: list[float]) -> Series:
    count = len(steps)
    return Series(
        run, tag, np.array(steps), np.zeros(count), np.array(values), np.zeros(count, bool)
    )


WIDE = [
    make_current("a", "loss", [0, 1, 2], [0.5, 0.25, 0.125]),
    make_current("a", "acc", [0, 2], [0.1, 0.2]),
    make_current("b", "loss", [2, 3], [5, 6]),
]


def test_wide_by_tag() -> None:
    wide = Table(WIDE).to_wide()

    assert wide.columns == ("run", "step", "loss", "acc")
    assert wide["run"].tolist() == ["a", "a", "a", "b", "b"]
    assert wide["step"].tolist() == [0, 1, 2, 2, 3]
    assert wide["loss"].tolist() == [0.5, 0.25, 0.125, 5, 6]
    np.testing.assert_array_equal(wide["acc"], [0.1, np.nan, 0.2, np.nan, np.nan])


def test_wide_by_series() -> None:
    wide = Table(WIDE).to_wide("run/tag")

    assert wide.columns == ("step", "a/loss", "a/acc", "b/loss")
    assert wide["step"].tolist() == [0, 1, 2, 3]
    np.testing.assert_array_equal(wide["b/loss"], [np.nan, np.nan, 5, 6])


def test_wide_by_run() -> None:
    assert Table([WIDE[0], WIDE[2]]).to_wide("run").columns == ("step", "a", "b")
    with pytest.raises(UsageError, match='this one has 2; use columns="run/tag"'):
        Table(WIDE).to_wide("run")
    with pytest.raises(UsageError, match='columns="tags" is not one of'):
        Table(WIDE).to_wide("tags")  # type: ignore[arg-type]


def test_wide_omits_overwritten_points() -> None:
    table = Table([make_series("a", "x", 7, 8)], overwritten=True)

    assert table.to_wide()["x"].tolist() == [8]


def test_wide_keeps_complete_integer_columns() -> None:
    big = (1 << 62) + 1
    series = [make_series("a", "n", 0, big, dtype=np.int64), make_series("a", "x", 0, 1.5)]

    assert Table(series).to_wide()["n"].tolist() == [big]


def test_wide_separates_series_with_ambiguous_names() -> None:
    series = [make_current("a", "b/c", [0], [1]), make_current("a/b", "c", [0], [2])]
    wide = Table(series).to_wide("run/tag")

    assert {name: wide[name].tolist() for name in wide.columns[1:]} == {
        "a: b/c": [1],
        "a/b: c": [2],
    }


def test_wide_keeps_a_tag_named_step() -> None:
    wide = Table([make_current("a", "step", [4], [1])]).to_wide()

    assert wide.columns == ("run", "step", "step (tag)")
    assert (wide["step"].tolist(), wide["step (tag)"].tolist()) == ([4], [1])


def test_wide_pandas_index_is_the_step() -> None:
    pytest.importorskip("pandas")

    assert Table(WIDE).to_wide("run/tag").to_pandas().loc[2].tolist() == [0.125, 0.2, 5]
    assert Table(WIDE).to_wide().to_pandas().index.names == ["run", "step"]


@pytest.mark.parametrize("columns", ["tag", "run", "run/tag"])
def test_wide_of_an_empty_table(columns: Any) -> None:
    assert len(Table([]).to_wide(columns)) == 0
    assert len(Table([make_series("a", "x")]).to_wide(columns)) == 0


@pytest.mark.parametrize("columns", ["tag", "run/tag"])
def test_wide_equals_pandas_pivot(columns: Any) -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    series = [
        make_current(run, tag, sorted(rng.permutation(50)[:20].tolist()), rng.random(20).tolist())
        for run in ("b", "a")
        for tag in ("y", "x")
    ]
    table = Table(series)
    long = table.to_pandas().astype({"run": str, "tag": str})
    if columns == "tag":
        theirs = long.pivot(index=["run", "step"], columns="tag", values="value")
    else:
        long["name"] = long["run"] + "/" + long["tag"]
        theirs = long.pivot(index="step", columns="name", values="value")
    ours = table.to_wide(columns).to_pandas().reset_index()
    if columns == "tag":
        ours = ours.astype({"run": str})
    ours = ours.set_index(theirs.index.names).sort_index()
    pd.testing.assert_frame_equal(ours[theirs.columns], theirs, check_names=False)
