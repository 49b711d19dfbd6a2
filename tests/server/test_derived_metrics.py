"""Derived metrics as curves, columns, filters and alerts of a server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.server.memory_source import MemorySource, MemoryWatch
from tests.server.waiting import wait_until


@pytest.fixture(autouse=True)
def data_dir(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRACKLIGHT_DATA_DIR", str(tmp_path / "data"))


@pytest.fixture
def source() -> MemorySource:
    return MemorySource(
        logged={
            "conv": {"loss": [3.0, 2.0, 1.0], "val": [4.0, 4.0]},
            "vit": {"loss": [9.0, 8.0, 6.0], "val": [9.0, 9.0, 9.0]},
            "text": {"loss": [1.0]},
        }
    )


def save(client: TestClient, name: str, expression: str | None, **fields: Any) -> Any:
    body = {"name": name, "expression": expression, **fields}
    return client.put("/api/v1/notes/metrics", json=body)


def read_lines(client: TestClient, tag: str, **fields: Any) -> dict[str, dict[str, Any]]:
    body = {"charts": [{"id": "a", "tags": [tag]}], **fields}
    chart = client.post("/api/v1/scalars/query", json=body).json()["charts"][0]
    assert chart["error"] is None
    return {line["run"]: line for line in chart["lines"]}


def read_tags(client: TestClient, run: str | None = None) -> dict[str, Any]:
    params = {} if run is None else {"run": run}
    return {row["tag"]: row for row in client.get("/api/v1/tags", params=params).json()["tags"]}


def test_a_metric_is_listed_like_a_tag(client: TestClient) -> None:
    before = read_tags(client)
    response = save(client, "gap", "val - loss")
    assert response.json()["metrics"] == [{"name": "gap", "expression": "val - loss"}]
    row = read_tags(client)["gap"]
    assert (row["runs"], row["kind"], row["description"]) == (2, "scalar", "`val - loss`")
    assert read_tags(client, "conv")["gap"]["count"] == 2
    assert "gap" not in read_tags(client, "text")
    save(client, "gap", None, expected="val - loss")
    assert read_tags(client) == before


def test_curves_have_the_shared_steps(client: TestClient) -> None:
    save(client, "gap", "val - loss")
    lines = read_lines(client, "gap")
    assert [*lines] == ["conv", "vit"]
    assert (lines["conv"]["x"], lines["conv"]["y"]) == ([0, 1], [1, 2])
    assert lines["vit"]["y"] == [0, 1, 3]


def test_derived_and_logged_series_on_either_axis(client: TestClient) -> None:
    save(client, "gap", "val - loss")
    assert read_lines(client, "loss", x="metric:gap", runs=["vit"])["vit"]["x"] == [0, 1, 3]
    assert read_lines(client, "gap", x="metric:loss", runs=["vit"])["vit"]["x"] == [9, 8, 6]
    assert read_lines(client, "gap", x="metric:gap", runs=["conv"])["conv"]["y"] == [1, 2]


def test_the_value_of_another_run(client: TestClient) -> None:
    save(client, "ratio", 'loss / baseline(loss, "conv")')
    lines = read_lines(client, "ratio")
    assert lines["vit"]["y"] == [3, 4, 6]
    assert lines["text"]["y"] == pytest.approx([1 / 3])


def test_metrics_of_metrics(client: TestClient) -> None:
    save(client, "gap", "val - loss")
    save(client, "gap to vit", 'gap - baseline(gap, "vit")')
    save(client, "scaled", '"gap to vit" * 10')
    assert read_lines(client, "scaled")["conv"]["y"] == [10.0, 10.0]
    assert read_tags(client)["scaled"]["runs"] == 2
    save(client, "gap", "loss", expected="val - loss")
    assert read_lines(client, "scaled")["conv"]["y"] == [-60.0, -60.0, -50.0]
    save(client, "gap", None, expected="loss")
    assert "scaled" not in read_tags(client)


def test_a_metric_must_not_use_itself(client: TestClient) -> None:
    save(client, "a", "loss + 1")
    save(client, "b", "a + 1")
    for name, expression in [("b", "b + 1"), ("a", "loss + b")]:
        response = save(client, name, expression, expected={"a": "loss + 1", "b": "a + 1"}[name])
        assert response.status_code == 400
        assert "uses itself" in response.json()["error"]["message"]
    assert read_lines(client, "b")["text"]["y"] == [3.0]


def test_definitions_that_double_are_rejected(client: TestClient) -> None:
    save(client, "m0", "loss")
    statuses = [save(client, f"m{i}", f"m{i - 1} + m{i - 1}").status_code for i in range(1, 12)]
    assert statuses[:6] == [200] * 6
    assert 400 in statuses


def test_columns_and_filters(client: TestClient) -> None:
    save(client, "gap", "val - loss")
    body = {"columns": ["last:gap", "max:gap", "step:gap"], "sort": ["-last:gap"]}
    table = client.post("/api/v1/runs/table", json=body).json()
    assert [(row["name"], row["cells"]) for row in table["rows"]] == [
        ("vit", [3, 3, 2]),
        ("conv", [2, 2, 1]),
        ("text", [None, None, None]),
    ]
    names = client.post("/api/v1/runs/names", json={"filter": 'last("gap") > 2.5'}).json()["names"]
    assert names == ["vit"]


def test_a_changed_expression_changes_columns(client: TestClient) -> None:
    """Columns are cached by run, and no run has changed."""
    body = {"columns": ["last:gap"], "sort": ["last:gap"]}
    save(client, "gap", "val - loss")
    client.post("/api/v1/runs/table", json=body)
    save(client, "gap", "10 * (val - loss)", expected="val - loss")
    table = client.post("/api/v1/runs/table", json=body).json()
    assert [row["cells"] for row in table["rows"]] == [[20], [30], [None]]


def test_new_points_extend_a_metric(
    client: TestClient, source: MemorySource, watch: MemoryWatch
) -> None:
    save(client, "gap", "val - loss")
    assert read_lines(client, "gap")["conv"]["y"] == [1, 2]
    source.logged["conv"]["val"].append(5.0)
    watch.touch()
    wait_until(lambda: read_lines(client, "gap")["conv"]["y"] == [1, 2, 4])


def test_alerts_on_a_metric(client: TestClient, source: MemorySource, watch: MemoryWatch) -> None:
    save(client, "gap", "val - loss")
    rule = {"id": "1", "tag": "gap", "kind": "above", "value": 3.5}
    assert client.put("/api/v1/alerts/rules", json=[rule]).status_code == 200

    def list_fired() -> list[tuple[str, str, float]]:
        alerts = client.get("/api/v1/notes").json()["alerts"]["alerts"]
        return [(alert["run"], alert["tag"], alert["value"]) for alert in alerts]

    assert list_fired() == []
    source.logged["conv"]["val"].append(5.0)
    watch.touch()
    wait_until(lambda: list_fired() == [("conv", "gap", 4)])


_DIVIDE = "No run has a metric “loss/2”; put spaces around “/” to divide (at character 1)"


@pytest.mark.parametrize(
    ("name", "expression", "message"),
    [
        ("gap", "val - los", "No run has a metric “los”; did you mean “loss”? (at character 7)"),
        ("gap", "loss/2", _DIVIDE),
        ("gap", "val -", "Expected a tag, a number or a function (at the end)"),
        ("gap", "loss - baseline(loss, x)", "There is no run “x” (at character 17)"),
        ("loss", "val * 2", 'the log has a scalar "loss": choose another name'),
    ],
)  # fmt: skip
def test_invalid_metrics_are_rejected(
    client: TestClient, name: str, expression: str, message: str
) -> None:
    response = save(client, name, expression)
    assert response.status_code == 400
    assert response.json()["error"]["message"].rstrip(".").lower() == message.lower()
    assert client.get("/api/v1/notes").json()["metrics"] == []


def test_edits_of_two_users_conflict(client: TestClient) -> None:
    save(client, "gap", "val - loss")
    response = save(client, "gap", "loss - val")
    assert response.status_code == 409
    assert "val - loss" in response.json()["error"]["message"]
    assert save(client, "gap", "val - loss").status_code == 200  # the same change
    assert save(client, "gap", "loss - val", expected="val - loss").status_code == 200


def test_a_logged_tag_hides_a_metric(
    client: TestClient, source: MemorySource, watch: MemoryWatch
) -> None:
    save(client, "gap", "val - loss")
    source.logged["conv"]["gap"] = [7.0]
    watch.touch()
    wait_until(lambda: read_lines(client, "gap")["conv"]["y"] == [7])


def test_lines_of_derived_metrics_change_with_other_runs(
    client: TestClient, source: MemorySource, watch: MemoryWatch
) -> None:
    save(client, "ratio", 'loss / baseline(loss, "conv")')

    def read_chart(tag: str, base: str | None = None) -> Any:
        body = {"charts": [{"id": "a", "tags": [tag], "base": base}]}
        return client.post("/api/v1/scalars/query", json=body).json()["charts"][0]

    logged, derived = read_chart("loss"), read_chart("ratio")
    cursor = client.get("/api/v1/status").json()["cursor"]
    source.logged["conv"]["loss"] = [1.0, 1.0, 1.0]
    watch.touch()
    wait_until(lambda: client.get("/api/v1/status").json()["cursor"] != cursor)
    changed = read_chart("loss", logged["revision"])
    assert (changed["base"], len(changed["lines"])) == (logged["revision"], 1)
    again = read_chart("ratio", derived["revision"])
    assert again["base"] is None
    assert [line["y"] for line in again["lines"]] == [[1.0, 1.0, 1.0], [9.0, 8.0, 6.0], [1.0]]
