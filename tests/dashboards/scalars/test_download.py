from __future__ import annotations

import io
import json
import sys

import pandas as pd
import pytest

from tests.dashboards.scalars.fake_log import Log, ask
from tests.index.series_builder import series
from tracklight.dashboards import scalars
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
def test_file_has_every_point(form: str) -> None:
    table = frame(format=form)
    assert list(table) == ["run", "tag", "step", "wall_time", "value"]
    assert table.run.tolist() == ['a "b"'] * 3 + ["c"]
    assert table.step.tolist() == [0, 1, 2, 3]
    assert table.value.tolist()[:3] == [5.0, 10.0, 20.0]


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_adds_requested_columns(form: str) -> None:
    table = frame(
        format=form, runs=['a "b"'], x="relative", overwritten=True,
        smoothing={"kind": "mean", "amount": 1},
    )  # fmt: skip
    assert table.step.tolist() == [0, 1, 1, 2, 2]
    assert table.overwritten.tolist() == [False, True, False, True, False]
    assert table.x.tolist() == [0.0, 1.0, 3.0, 2.0, 4.0]
    assert table.smoothed.isna().tolist() == table.overwritten.tolist()
    assert table.smoothed.dropna().tolist() == [5.0, 10.0, 20.0]


SEEDS = Log(
    series([0, 1, 2], [1.0, 2.0, 3.0], run="seed1"),
    series([0, 1], [3.0, 6.0], run="seed2"),
)
GROUPS = [{"key": "all runs", "runs": ["seed1", "seed2"]}]


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_file_has_bands_of_groups(form: str) -> None:
    blob = ask("table", SEEDS, tags=["loss"], groups=GROUPS, format=form)
    read = pd.read_parquet if form == "parquet" else pd.read_csv
    table = read(io.BytesIO(blob.content))
    assert list(table) == ["group", "tag", "step", "runs", "center", "low", "high"]
    assert table.group.tolist() == ["all runs"] * 3
    assert table.step.tolist() == [0, 1, 2]
    assert table.runs.tolist() == [2, 2, 1]
    values = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [3.0, 6.0, None]})
    assert table.center.tolist() == pytest.approx(values.mean(axis=1).tolist())
    std = values.std(axis=1).fillna(0.0)
    assert (table.high - table.center).tolist() == pytest.approx(std.tolist())


def test_bands_in_files_have_a_minimum_number_of_runs() -> None:
    blob = ask("table", SEEDS, tags=["loss"], groups=GROUPS, x="relative_step", min_runs=2)
    table = pd.read_csv(io.BytesIO(blob.content))
    assert (table.x.tolist(), table.runs.tolist()) == ([0.0, 1.0], [2, 2])


def test_json_has_one_object_per_series() -> None:
    blob = ask("table", LOG, tags=["loss"], format="json")
    assert (blob.media_type, blob.filename) == ("application/json", "scalars.json")
    a, c = json.loads(blob.content)
    assert (a["run"], a["step"], a["value"]) == ('a "b"', [0, 1, 2], [5.0, 10.0, 20.0])
    assert c["value"] == ["NaN"]


def test_empty_selection_gives_header_only() -> None:
    assert ask("table", LOG, tags=[]).content == b"run,tag,step,wall_time,value\n"


def test_rejects_too_many_points(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scalars, "_MAX_POINTS", 3)
    with pytest.raises(UsageError, match="the download has 4 points; the limit is 3"):
        frame()


def test_error_names_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingDependencyError, match=r"tracklight\[parquet\]"):
        frame(format="parquet")
