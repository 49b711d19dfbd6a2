from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient


def query(client: TestClient, **body: object) -> dict[str, Any]:
    answer = client.post("/api/scalars/query", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_query_answers_one_chart_for_each_asked(client: TestClient) -> None:
    charts = query(
        client,
        charts=[{"tag": "loss"}, {"tag": "acc", "runs": ["conv"]}],
        width=4,
        columns=["last"],
    )["charts"]
    loss, acc = charts
    assert [line["run"] for line in loss["lines"]] == ["conv", "vit"]
    assert loss["x"] == [0, 1, 2, 3, 4]
    assert acc["lines"][0]["columns"] == {"last": [0.5, None, None, None]}


def test_query_keeps_numbers_that_are_not_finite_apart_from_gaps(client: TestClient) -> None:
    (loss,) = query(client, charts=[{"tag": "loss"}], width=4, columns=["last"])["charts"]
    conv, vit = (line["columns"]["last"] for line in loss["lines"])
    assert conv == [3.0, 2.0, "NaN", None]
    assert vit == [9.0, "Infinity", 7.0, None]


def test_query_says_how_many_runs_it_left_out(client: TestClient) -> None:
    (loss,) = query(client, charts=[{"tag": "loss"}], limit=1)["charts"]
    assert (len(loss["lines"]), loss["runs"]) == (1, 2)


def test_query_for_a_missing_tag_spoils_only_its_own_chart(client: TestClient) -> None:
    charts = [{"tag": "lss", "runs": ["conv"]}, {"tag": "loss"}, {"tag": "nobody has it"}]
    missing, loss, nobody = query(client, charts=charts)["charts"]
    assert missing["error"]["what"] == 'No tag "lss" in run "conv"; nearest: "loss".'
    assert (loss["error"], len(loss["lines"])) == (None, 2)
    assert (nobody["error"], nobody["lines"]) == (None, [])


@pytest.mark.parametrize(
    ("body", "status", "what"),
    [
        ("{", 400, "truncated"),
        ('{"charts": [], "width": 0}', 400, "width"),
        ('{"charts": [{"tag": "a", "runz": []}]}', 400, "runz"),
        ('{"charts": [{"tag": "loss"}], "columns": ["mean"]}', 400, "mean"),
        ("[" * (1 << 21), 413, "megabyte"),
    ],
)
def test_a_query_that_makes_no_sense_is_told_so(
    client: TestClient, body: str, status: int, what: str
) -> None:
    answer = client.post("/api/scalars/query", content=body)
    assert answer.status_code == status
    assert what in answer.json()["error"]["what"]


def test_a_query_cannot_ask_for_more_than_memory_should_hold(client: TestClient) -> None:
    charts = [{"tag": "loss"}] * 512
    answer = client.post("/api/scalars/query", json={"charts": charts, "width": 8192})
    assert answer.status_code == 400
    assert "four million" in answer.json()["error"]["what"]
