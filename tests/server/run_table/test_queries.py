from __future__ import annotations

import io
import json
import math
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

from tests.server.run_table.tables import NOW, LogBuilder
from tracklight.errors import UsageError
from tracklight.formats.hparams import HParamValue
from tracklight.server.notes import RunNote
from tracklight.server.run_table.queries import (
    Aggregate,
    SortKey,
    aggregate_column,
    export_table,
    group_rows,
    select_rows,
    sort_rows,
    take_page,
)
from tracklight.server.run_table.table import RunTable, make_column


@pytest.fixture
def table() -> RunTable:
    builder = LogBuilder()
    builder.add("r1", {"lr": 0.1, "opt": "sgd"}, {"loss": [3.0, 1.0]})
    builder.add("r2", {"lr": 0.01, "opt": "adam"}, {"loss": [2.0]}, note=RunNote(hidden=True))
    builder.add("r3", {"lr": 0.1, "opt": "adam"}, {"loss": [float("nan")]})
    builder.add("r10", {"lr": 0.01}, note=RunNote(pinned=True, alias="Ten"))
    builder.add("r11", {"lr": "auto", "opt": "sgd"}, {"loss": [0.5]})
    return builder.build()


def sort(table: RunTable, *keys: str) -> list[str]:
    rows = select_rows(table, "", show_hidden=True)
    ordered = sort_rows(table, rows, [SortKey.parse(key) for key in keys])
    return [table.names[row] for row in ordered.tolist()]


def test_hidden_runs_are_left_out(table: RunTable) -> None:
    assert len(select_rows(table, "", show_hidden=False)) == 4
    assert select_rows(table, "ten", show_hidden=False).tolist() == [3]


def test_pinned_runs_come_first_and_missing_values_last(table: RunTable) -> None:
    assert sort(table) == ["r10", "r1", "r2", "r3", "r11"]
    assert sort(table, "last:loss") == ["r10", "r11", "r1", "r2", "r3"]
    assert sort(table, "-last:loss") == ["r10", "r2", "r1", "r11", "r3"]


def test_metrics_at_a_step_are_the_last_values_up_to_it(table: RunTable) -> None:
    def read(key: str) -> list[HParamValue | None]:
        # Some rows are read without the others, until the column is needed as a whole.
        kind, some = table.read_cells(key, np.array([4, 0]))
        cells = table.get_column(key).take_cells(np.arange(len(table)))
        assert (kind, some) == ("number", [cells[4], cells[0]])
        return cells

    first = read("at:0:loss")
    assert first[:2] == [3.0, 2.0] and first[3:] == [None, 0.5]
    assert isinstance(first[2], float) and math.isnan(first[2])
    assert read("at:7:loss")[:2] == [1.0, 2.0]
    assert read("at:-1:loss") == [None] * 5
    assert sort(table, "at:0:loss") == ["r10", "r11", "r2", "r1", "r3"]
    for key in ("at:loss", "at:1e3:loss", "at::loss"):
        with pytest.raises(UsageError, match="there is no column"):
            table.get_column(key)


def test_sorts_by_several_columns_of_any_type(table: RunTable) -> None:
    assert sort(table, "hparam:lr", "-hparam:opt") == ["r10", "r2", "r1", "r3", "r11"]
    assert sort(table, "hparam:opt", "name") == ["r10", "r2", "r3", "r1", "r11"]
    assert sort(table, "-name") == ["r10", "r11", "r3", "r2", "r1"]


def test_unknown_columns_are_refused_and_lost_ones_empty(table: RunTable) -> None:
    with pytest.raises(UsageError, match='no column "bogus"'):
        sort(table, "bogus")
    assert sort(table, "hparam:gone") == sort(table)


def test_groups_have_members_in_order(table: RunTable) -> None:
    rows = sort_rows(table, select_rows(table, "", True), [SortKey("name", True)])
    groups = group_rows(table, rows, ["hparam:opt"], [], "mean")
    assert groups.labels == [["adam"], ["sgd"], [None]]
    members = [[table.names[row] for row in part.tolist()] for part in groups.members]
    assert members == [["r3", "r2"], ["r11", "r1"], ["r10"]]
    by_loss = group_rows(table, rows, ["hparam:opt"], [SortKey("last:loss")], "mean")
    assert by_loss.labels == [["sgd"], ["adam"], [None]]
    both = group_rows(table, rows, ["hparam:opt", "hparam:lr"], [], "mean")
    assert [len(part) for part in both.members] == [1, 1, 1, 1, 1]


def test_pages_contain_the_runs_of_expanded_groups(table: RunTable) -> None:
    rows = select_rows(table, "", True)
    groups = group_rows(table, rows, ["hparam:opt"], [], "mean")
    whole, total = take_page(groups, frozenset(groups.ids[:2]), 0, 100)
    assert total == 7
    kinds = "".join("g" if row.run is None else "r" for row in whole)
    assert kinds == "grrgrrg"
    for offset in range(8):
        for limit in range(1, 8):
            page, count = take_page(groups, frozenset(groups.ids[:2]), offset, limit)
            assert (page, count) == (whole[offset : offset + limit], 7)


@pytest.mark.parametrize("how", ["mean", "median", "min", "max", "sum"])
def test_aggregates_are_those_of_numpy(how: Aggregate) -> None:
    rng = np.random.default_rng(1)
    cells = [None if it < 0.1 else it for it in rng.random(300).tolist()]
    column = make_column("x", [*cells, float("inf")])
    group_of = rng.integers(0, 20, 301)
    groups = [np.flatnonzero(group_of == number) for number in range(25)]
    expected = [
        getattr(np, how)(own) if own else math.nan
        for own in ([cells[row] for row in group if row < 300 and cells[row]] for group in groups)
    ]
    np.testing.assert_allclose(aggregate_column(column, groups, how), expected)


def test_exports_types(table: RunTable) -> None:
    rows = select_rows(table, "", True)
    keys = ["name", "start", "hparam:lr", "last:loss"]
    lines = export_table(table, rows, keys, "csv").content.decode().splitlines()
    assert lines[0] == "name,start,hparam:lr,last:loss"
    assert lines[1].startswith("r1,2027-01-15T05:13:20+00:00,0.1,1")
    assert lines[3].endswith(",0.1,nan")
    everything = json.loads(export_table(table, rows, [], "json").content)
    assert "hparam:opt" in everything["header"]
    assert "note" not in everything["header"]


def test_exports_parquet(table: RunTable) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = select_rows(table, "", True)
    keys = ["name", "state", "start", "duration", "labels", "hparam:lr", "last:loss"]
    data = export_table(table, rows, keys, "parquet").content
    read = parquet.read_table(io.BytesIO(data)).to_pydict()
    assert read["name"] == ["r1", "r2", "r3", "r10", "r11"]
    assert read["last:loss"][:2] == [1.0, 2.0]
    assert read["last:loss"][3] is None
    assert read["start"][0].timestamp() == NOW - 10_000
    assert read["hparam:lr"] == ["0.1", "0.01", "0.1", "0.01", "auto"]


# ---- over HTTP


@pytest.fixture(autouse=True)
def data_dir(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRACKLIGHT_DATA_DIR", str(tmp_path / "data"))


def test_page_of_the_table(client: TestClient) -> None:
    client.patch("/api/v1/notes/runs", json={"runs": ["vit"], "alias": "ViT", "labels": ["best"]})
    request = {"columns": ["name", "labels", "last:loss", "state"], "sort": ["-max:loss"]}
    response = client.post("/api/v1/runs/table", json=request).json()
    assert (response["total"], response["matched"], response["runs"]) == (2, 2, 2)
    assert response["states"] == {"inactive": 2}
    assert [row["name"] for row in response["rows"]] == ["vit", "conv"]
    assert response["rows"][0]["cells"] == ["vit", "best", 7.0, "inactive"]
    assert response["rows"][0]["note"]["alias"] == "ViT"
    assert response["rows"][1]["cells"][2] == "NaN"
    kinds = [column["kind"] for column in response["columns"]]
    assert kinds == ["text", "labels", "number", "state"]
    page = client.post("/api/v1/runs/table", json={**request, "offset": 1, "limit": 1}).json()
    assert (page["total"], [row["name"] for row in page["rows"]]) == (2, ["conv"])


def test_grouped_page_of_the_table(client: TestClient) -> None:
    request = {"columns": ["last:loss", "name"], "group_by": ["state"], "aggregate": "max"}
    response = client.post("/api/v1/runs/table", json=request).json()
    (row,) = response["rows"]
    assert row["group"]["values"] == [{"key": "state", "value": "inactive"}]
    assert (row["group"]["runs"], row["group"]["distinct"]) == (2, [2, 2])
    assert row["cells"] == [7.0, None]
    request["expanded"] = [row["group"]["id"]]
    rows = client.post("/api/v1/runs/table", json=request).json()["rows"]
    assert [row["name"] for row in rows] == [None, "conv", "vit"]


def test_invalid_filter_returns_400(client: TestClient) -> None:
    response = client.post("/api/v1/runs/table", json={"filter": "lr <"})
    assert response.status_code == 400
    error = response.json()["error"]
    assert error["message"] == "Expected a value after “<” (at the end)."
    assert error["code"] == "filter.at_end"


def test_names_and_export(client: TestClient) -> None:
    names = client.post("/api/v1/runs/names", json={"filter": "conv"}).json()["names"]
    assert names == ["conv"]
    request = {"format": "csv", "columns": ["name", "max:loss"], "sort": ["-name"]}
    response = client.post("/api/v1/runs/export", json=request)
    assert response.text == "name,max:loss\nvit,9\nconv,3\n"
    assert "runs.csv" in response.headers["content-disposition"]
