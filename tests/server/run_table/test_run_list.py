from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from tests.server.run_table.tables import LogBuilder
from tracklight.analysis.source import GroupQuery, RunSelection
from tracklight.errors import ExpressionError, UsageError
from tracklight.server.notes import RunNote
from tracklight.server.run_table import (
    RunListApi,
    RunListRequest,
    RunListResponse,
    RunListRow,
)
from tracklight.server.run_table.table import (
    get_common_folder,
    list_captures,
    list_path_parts,
    list_splits,
)

AUTO = {"newest": 2, "all_up_to": 3}


@pytest.fixture
def api() -> RunListApi:
    """Six runs in two folders; those with higher numbers are newer."""
    builder = LogBuilder()
    for number in range(6):
        folder = "conv" if number < 4 else "vit"
        note = RunNote(alias="Fifth") if number == 5 else None
        name = f"{folder}/s{number}/{'val' if number % 2 else 'train'}"
        hparams = {"lr": 0.1 * (1 + number % 3)} if number else None
        times = (1000.0 + number, 2000.0)
        builder.add(name, hparams, {"loss": [float(number)]}, times, note)
    builder.source.refresh()
    store = builder.create_store()
    return RunListApi(store.get_table)


def name_of(row: RunListRow) -> str:
    if row.run is not None:
        return row.run.name
    assert row.group is not None
    return f"[{row.group.key} {row.group.selected}/{row.group.runs}]"


def read(api: RunListApi, **fields: object) -> RunListResponse:
    selection = fields.pop("selection", {})
    assert isinstance(selection, dict)
    return api.read_page(RunListRequest(selection=RunSelection(**selection), **fields))  # type: ignore[arg-type]


def test_pages_of_matching_runs_in_order(api: RunListApi) -> None:
    page = read(api, filter="conv", sort=["-start"], offset=1, limit=2, columns=["hparam:lr"])
    assert [name_of(row) for row in page.rows] == ["conv/s2/train", "conv/s1/val"]
    assert [row.cells for row in page.rows] == [[pytest.approx(0.3)], [0.2]]
    assert (page.total, page.matched, page.totals.runs, page.columns) == (4, 4, 6, ["hparam:lr"])


def test_the_alias_is_searched_and_the_folder_that_all_runs_are_in_is_known(
    api: RunListApi,
) -> None:
    page = read(api, filter='"fifth"')
    assert [name_of(row) for row in page.rows] == ["vit/s5/val"]
    assert page.common_folder == ""
    assert get_common_folder(["a/b/c", "a/b/d/e", "a/bc/x"]) == "a/"
    assert get_common_folder(["a/b/c", "a/b/d/e"]) == "a/b/"
    assert get_common_folder(["a", "a/b"]) == get_common_folder([]) == ""


@pytest.mark.parametrize(
    ("selection", "selected"),
    [
        ({}, 6),
        (AUTO, 2),
        ({"newest": 0}, 0),
        ({"newest": 0, "on": ["conv/s0/train", "gone"]}, 1),
        ({"newest": None, "off": ["conv/s0/train"]}, 5),
        ({"newest": 1, "on": ["conv/s0/train"], "off": ["vit/s5/val"]}, 1),
    ],
)
def test_selections(api: RunListApi, selection: dict[str, object], selected: int) -> None:
    page = read(api, selection=selection)
    assert (page.matched, page.selected) == (6, selected)
    chosen = read(api, selection=selection, selected_only=True)
    assert chosen.total == len(chosen.rows) == selected


def test_the_newest_are_those_of_the_filter(api: RunListApi) -> None:
    page = read(api, filter="conv", selection=AUTO, selected_only=True)
    assert [name_of(row) for row in page.rows] == ["conv/s2/train", "conv/s3/val"]
    few = read(api, filter="vit", selection=AUTO)
    assert few.selected == few.matched == 2


def test_rows_tell_the_rule_without_the_exceptions_of_runs(api: RunListApi) -> None:
    page = read(api, selection={"newest": 1, "on": ["conv/s0/train"], "off": ["vit/s5/val"]})
    assert [row.selected for row in page.rows] == [False] * 5 + [True]


def test_groups_and_the_runs_of_expanded_ones(api: RunListApi) -> None:
    page = read(api, group_by="path:1", expanded=["vit"], selection=AUTO)
    names = ["[conv 0/4]", "[vit 2/2]", "vit/s4/train", "vit/s5/val"]
    assert [name_of(row) for row in page.rows] == names
    assert [row.key for row in page.rows[2:]] == ["vit", "vit"]
    reverse = read(api, group_by="path:1", sort=["-name"])
    assert [name_of(row) for row in reverse.rows] == ["[vit 2/2]", "[conv 4/4]"]
    assert [row.group.position for row in reverse.rows if row.group] == [1, 0]


def test_a_selected_group_takes_its_runs_along(api: RunListApi) -> None:
    selection = {"newest": 0, "on": ["/conv"], "off": ["conv/s1/val"]}
    page = read(api, group_by="path:1", selection=selection)
    assert [name_of(row) for row in page.rows] == ["[conv 3/4]", "[vit 0/2]"]
    chosen = read(api, group_by="path:1", selection=selection, selected_only=True)
    assert [(group.key, group.splits) for group in chosen.groups] == [
        ("conv", ["train", "validation"])
    ]
    rest = read(api, group_by="path:1", selection={"newest": None, "off": ["/conv"]})
    assert rest.selected == 2


def test_the_first_selected_runs_are_of_all_groups(api: RunListApi) -> None:
    page = read(api, group_by="path:1", sort=["-start"], selected_only=True, limit=3)
    names = ["vit/s5/val", "vit/s4/train", "conv/s3/val"]
    assert sorted(map(name_of, page.rows)) == sorted(names)
    by_name = read(api, group_by="path:1", selected_only=True, sort=["-start"], limit=5)
    assert [row.key for row in by_name.rows] == ["vit", "vit", "conv", "conv", "conv"]
    assert page.total == 6


def test_groups_have_the_statistics_of_the_sorted_column(api: RunListApi) -> None:
    page = read(api, group_by="path:1", sort=["-last:loss"])
    groups = [row.group for row in page.rows if row.group]
    assert [(group.key, group.count, group.mean) for group in groups] == [
        ("vit", 2, 4.5),
        ("conv", 4, 1.5),
    ]
    assert groups[0].std == pytest.approx(0.5**0.5)
    (first, *_) = read(api, group_by="path:1").rows
    assert first.group is not None and first.group.mean is None


def test_runs_without_a_value_are_the_last_group(api: RunListApi) -> None:
    page = read(api, group_by="hparam:lr")
    groups = [row.group for row in page.rows if row.group]
    assert [group.runs for group in groups] == [1, 2, 2, 1]
    assert (groups[-1].key, groups[-1].value) == ("", None)
    assert groups[1].value == 0.2


def test_keys_of_groups_are_numbers_as_the_page_writes_them() -> None:
    builder = LogBuilder()
    for name, rate in (("a", 1e-05), ("b", 2e-07), ("c", 3.0)):
        builder.add(name, {"lr": rate}, {"loss": [1.0]})
    builder.source.refresh()
    api = RunListApi(builder.create_store().get_table)
    page = read(api, group_by="hparam:lr")
    assert [row.group.key for row in page.rows if row.group] == ["2e-7", "0.00001", "3"]
    assert read(api, filter='lr ~ "^2e-7$"').matched == 1


def test_queries_of_dashboards_are_resolved(api: RunListApi) -> None:
    selection = RunSelection(newest=None, off=["conv/s0/train"])

    def resolve(group: str | None, split: str | None = None) -> list[str]:
        query = GroupQuery(
            group_by="re:^([a-z]+)", selection=selection, group=group, split=split, sort=["-name"]
        )
        return api.select_runs(query)

    assert resolve("conv") == ["conv/s1/val", "conv/s2/train", "conv/s3/val"]
    assert resolve("conv", "validation") == ["conv/s1/val", "conv/s3/val"]
    assert resolve("vit", "") == resolve("nothing") == []
    assert len(resolve(None)) == 5


def test_invalid_queries_are_rejected(api: RunListApi) -> None:
    with pytest.raises(ExpressionError):
        read(api, filter="lr <")
    for key in ("path:0", "path:x", "re:(", "nothing"):
        with pytest.raises(UsageError):
            read(api, group_by=key)


def test_parts_of_names() -> None:
    names = ["a/b/c", "a", "x/seed-1"]
    assert list_path_parts(names, "1") == ["a", "a", "x"]
    assert list_path_parts(names, "2") == ["b", None, None]
    assert list_captures(names, r"seed-(\d)") == [None, None, "1"]
    assert list_captures(names, r"[ab]") == ["a", "a", None]
    assert list_splits(["a/train", "a_val", "b.Eval", "test", "latest", "x/training"]) == [
        "train",
        "validation",
        "evaluation",
        "test",
        None,
        "train",
    ]


def test_more_runs_than_the_limit_are_only_counted(client: TestClient) -> None:
    everything = client.get("/api/v1/runs").json()
    count = len(everything["runs"])
    assert everything["totals"] is None
    assert client.get(f"/api/v1/runs?limit={count}").json()["runs"] == everything["runs"]
    limited = client.get(f"/api/v1/runs?limit={count - 1}").json()
    assert (limited["runs"], limited["totals"]["runs"]) == ([], count)
    assert limited["totals"]["points"] == sum(run["points"] for run in everything["runs"])
