"""Responses of the routes over HTTP, as JSON and as columns."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.server.columns_decoder import read_columns
from tracklight.server.responses import COLUMNS_MEDIA_TYPE

QUERY = {
    "charts": [{"id": "a", "tags": ["loss"]}],
    "smoothing": {"kind": "ema", "amount": 0.5},
}


def test_columns_and_json_are_equal(client: TestClient) -> None:
    plain = client.post("/api/v1/scalars/query", json=QUERY).json()
    answer = client.post(
        "/api/v1/scalars/query", json=QUERY, headers={"accept": COLUMNS_MEDIA_TYPE}
    )
    packed = read_columns(answer.content)
    (one,), (other,) = plain["charts"], packed["charts"]
    for line, same in zip(one["lines"], other["lines"], strict=True):
        assert line["run"] == same["run"] and line["last"] == same["last"]
        for name in ("x", "y", "raw"):
            assert [float(cell) for cell in line[name]] == pytest.approx(
                same[name].tolist(), nan_ok=True
            )


def test_downloads_file_with_get_request(client: TestClient) -> None:
    answer = client.get("/api/v1/scalars/table", params={"tags": "acc", "format": "csv"})
    assert answer.text == "run,tag,step,wall_time,value\nconv,acc,0,10.0,0.5\n"
    assert "scalars.csv" in answer.headers["content-disposition"]


@pytest.mark.parametrize(
    ("path", "body", "what"),
    [
        ("query", {"charts": [], "width": 0}, "width"),
        ("query", {"charts": [{"id": "a", "tags": ["loss"], "stat": 1}]}, "stat"),
        ("query", {"charts": [], "smoothing": {"kind": "ema", "amount": 2}}, "takes amounts from"),
        ("query", {"charts": [], "smoothing": {"kind": "emma", "amount": 1}}, "emma"),
        ("at", {"tags": ["loss"], "x_value": 1, "x": "steps"}, "Unknown axis"),
        ("range", {"tags": ["loss"], "x": "metric:epoch"}, "for the x axis"),
        ("table", {"tags": ["loss"], "format": "xlsx"}, "xlsx"),
    ],
)
def test_rejects_invalid_requests(
    client: TestClient,
    path: str,
    body: dict[str, Any],
    what: str,
) -> None:
    answer = client.post(f"/api/v1/scalars/{path}", json=body)
    assert answer.status_code == 400
    assert what in answer.json()["error"]["message"]
