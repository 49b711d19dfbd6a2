from __future__ import annotations

import sys

import numpy as np
import pytest

from tracklight.errors import MissingExtra
from tracklight.log import Table
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

ROWS = [
    ("a", "loss", 0, 1.7e9, 0.5, True),
    ("a", "loss", 1, 1.7e9 + 1, None, False),
    ("b", "loss", 0, 1.7e9, np.inf, True),
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
def test_integers_stay_integers_among_themselves(kinds: list[type], expected: type) -> None:
    table = Table([make_series("a", "x", 1, dtype=kind) for kind in kinds])

    assert table["value"].dtype == expected


def test_to_pandas() -> None:
    pytest.importorskip("pandas")
    frame = Table(SERIES, overwritten=True).to_pandas()

    assert frame["run"].dtype == "category"
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
def test_an_empty_table_has_its_columns(method: str) -> None:
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
def test_names_the_extra_that_is_missing(
    method: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(MissingExtra, match=rf"tracklight\[{extra}\]"):
        getattr(Table(SERIES), method)()
