from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tracklight.util.user_dirs import get_notes_path


@pytest.fixture(autouse=True)
def own_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("TRACKLIGHT_DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "data"


def test_nothing_was_said_at_first(client: TestClient, own_data: Path) -> None:
    answer = client.get("/api/v1/notes").json()
    assert (answer["revision"], answer["runs"], answer["annotations"]) == (0, {}, [])
    assert not own_data.exists()


def test_notes_on_runs_are_kept(client: TestClient) -> None:
    change = {"names": ["conv", "vit"], "hidden": True, "labels": ["old"]}
    assert client.patch("/api/v1/notes/runs", json=change).json()["revision"] == 1
    client.patch("/api/v1/notes/runs", json={"names": ["vit"], "alias": "ViT", "hidden": False})
    answer = client.get("/api/v1/notes").json()
    blank = {"note": "", "alias": "", "hidden": False, "colour": "", "labels": []}
    assert answer["runs"] == {
        "conv": {**blank, "hidden": True, "labels": ["old"]},
        "vit": {**blank, "alias": "ViT", "labels": ["old"]},
    }
    assert get_notes_path(["/logs"]).exists()


def test_layouts_of_charts_are_kept(client: TestClient) -> None:
    chart = {"title": "Loss", "tags": ["loss"], "margins": []}
    layout = {
        "name": "mine",
        "categories": [{"title": "Quality", "closed": False, "charts": [chart]}],
    }
    assert client.put("/api/v1/notes/layouts", json=layout).json()["layouts"] == [layout]
    assert client.get("/api/v1/notes").json()["layouts"] == [layout]
    assert client.put("/api/v1/notes/layouts", json={"name": "mine"}).json()["layouts"] == []


def test_layouts_without_end_are_refused(client: TestClient) -> None:
    for number in range(100):
        client.put("/api/v1/notes/layouts", json={"name": str(number), "categories": []})
    answer = client.put("/api/v1/notes/layouts", json={"name": "x", "categories": []})
    assert answer.status_code == 400
    assert "remove one first" in answer.json()["error"]["message"]


def test_a_note_that_makes_no_sense_is_refused_in_words(client: TestClient) -> None:
    answer = client.patch("/api/v1/notes/runs", json={"names": ["vit"], "colour": "blue"})
    assert answer.status_code == 400
    assert "colour" in answer.json()["error"]["message"]
    assert client.get("/api/v1/notes").json()["revision"] == 0


def test_annotations_come_and_go(client: TestClient) -> None:
    new = {"step": 100, "text": "learning rate halved", "tag": "loss"}
    (made,) = client.post("/api/v1/notes/annotations", json=new).json()["annotations"]
    assert {key: made[key] for key in new} == new
    client.post("/api/v1/notes/annotations", json={"step": 1, "text": "all charts"})
    rest = client.delete(f"/api/v1/notes/annotations/{made['id']}").json()["annotations"]
    assert [(note["text"], note["tag"]) for note in rest] == [("all charts", None)]
    assert client.delete(f"/api/v1/notes/annotations/{made['id']}").status_code == 404


def test_a_note_that_cannot_be_kept_says_where(client: TestClient, own_data: Path) -> None:
    own_data.touch()
    answer = client.patch("/api/v1/notes/runs", json={"names": ["vit"], "note": "x"})
    assert answer.status_code == 503
    assert str(own_data) in answer.json()["error"]["message"]
    assert "TRACKLIGHT_DATA_DIR" in answer.json()["error"]["hint"]
