from __future__ import annotations

import io
import json
import sys

import pandas as pd
import pytest

from tests.dashboards.scalars.fake_log import Log, ask
from tests.index.series_builder import series
from tracklight.dashboards.scalars import tables
from tracklight.errors import MissingDependencyError, UsageError

LOG = Log(
    series([0, 1, 2, 1, 2], [5.0, 1.0, 2.0, 10.0, 20.0], overwritten=[1, 2], run='a "b"'),
    series([3], [float("nan")], run="c"),
)


def frame(**fields: object) -> pd.DataFrame:
    blob = ask("table", LOG, tags=["loss"], **fields)
    read = pd.read_parquet if fields.get("format") == "parquet" else pd.read_csv
    return read(io.BytesIO(blob.content))


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_file_has_every_point(form: str) -> None:
    found = frame(format=form)
    assert list(found) == ["run", "tag", "step", "wall_time", "value"]
    assert found.run.tolist() == ['a "b"'] * 3 + ["c"]
    assert found.step.tolist() == [0, 1, 2, 3]
    assert found.value.tolist()[:3] == [5.0, 10.0, 20.0]


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_what_is_asked_for_adds_columns(form: str) -> None:
    found = frame(
        format=form, runs=['a "b"'], x="relative", overwritten=True,
        smoothing={"kind": "mean", "amount": 1},
    )  # fmt: skip
    assert found.step.tolist() == [0, 1, 1, 2, 2]
    assert found.overwritten.tolist() == [False, True, False, True, False]
    assert found.x.tolist() == [0.0, 1.0, 3.0, 2.0, 4.0]
    assert found.smoothed.isna().tolist() == found.overwritten.tolist()
    assert found.smoothed.dropna().tolist() == [5.0, 10.0, 20.0]


def test_json_holds_a_series_in_each_object() -> None:
    blob = ask("table", LOG, tags=["loss"], format="json")
    assert (blob.media_type, blob.filename) == ("application/json", "scalars.json")
    a, c = json.loads(blob.content)
    assert (a["run"], a["step"], a["value"]) == ('a "b"', [0, 1, 2], [5.0, 10.0, 20.0])
    assert c["value"] == ["NaN"]


def test_nothing_is_a_file_with_a_head() -> None:
    assert ask("table", LOG, tags=[]).content == b"run,tag,step,wall_time,value\n"


def test_too_many_points_are_counted_before_they_are_copied(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tables, "_MAX_POINTS", 3)
    with pytest.raises(UsageError, match="these are 4 points, and a download holds 3"):
        frame()


def test_without_pyarrow_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingDependencyError, match=r"tracklight\[parquet\]"):
        frame(format="parquet")
