from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.server.memory_source import MemorySource, MemoryWatch
from tests.server.waiting import wait_until
from tracklight.server.app import create_app
from tracklight.server.auth import create_policy
from tracklight.util.files import get_notes_path


@pytest.fixture(autouse=True)
def data_dir(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("TRACKLIGHT_DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "data"


def test_notes_are_empty_at_first(client: TestClient, data_dir: Path) -> None:
    response = client.get("/api/v1/notes").json()
    assert (response["revision"], response["runs"], response["annotations"]) == (0, {}, [])
    assert not data_dir.exists()


def test_run_notes_are_saved(client: TestClient) -> None:
    update = {"runs": ["conv", "vit"], "hidden": True, "labels": ["old"]}
    assert client.patch("/api/v1/notes/runs", json=update).json()["revision"] == 1
    client.patch("/api/v1/notes/runs", json={"runs": ["vit"], "alias": "ViT", "hidden": False})
    response = client.get("/api/v1/notes").json()
    blank = {"note": "", "alias": "", "hidden": False, "color": "", "labels": [], "pinned": False}
    assert response["runs"] == {
        "conv": {**blank, "hidden": True, "labels": ["old"]},
        "vit": {**blank, "alias": "ViT", "labels": ["old"]},
    }
    assert get_notes_path(["/logs"]).exists()


def test_layouts_are_saved_and_deleted(client: TestClient) -> None:
    chart = {"title": "Loss", "tags": ["loss"], "margins": []}
    layout = {
        "name": "mine",
        "categories": [{"title": "Quality", "closed": False, "charts": [chart]}],
    }
    assert client.put("/api/v1/notes/layouts", json=layout).json()["layouts"] == [layout]
    assert client.get("/api/v1/notes").json()["layouts"] == [layout]
    assert client.put("/api/v1/notes/layouts", json={"name": "mine"}).json()["layouts"] == []


def test_number_of_layouts_is_limited(client: TestClient) -> None:
    for number in range(100):
        client.put("/api/v1/notes/layouts", json={"name": str(number), "categories": []})
    response = client.put("/api/v1/notes/layouts", json={"name": "x", "categories": []})
    assert response.status_code == 400
    assert "delete one first" in response.json()["error"]["message"]


def test_invalid_note_returns_400(client: TestClient) -> None:
    response = client.patch("/api/v1/notes/runs", json={"runs": ["vit"], "color": "blue"})
    assert response.status_code == 400
    assert "color" in response.json()["error"]["message"]
    assert client.get("/api/v1/notes").json()["revision"] == 0


def test_annotations_are_added_and_removed(client: TestClient) -> None:
    new = {"step": 100, "text": "learning rate halved", "tag": "loss"}
    (annotation,) = client.post("/api/v1/notes/annotations", json=new).json()["annotations"]
    assert {key: annotation[key] for key in new} == new
    client.post("/api/v1/notes/annotations", json={"step": 1, "text": "all charts"})
    rest = client.delete(f"/api/v1/notes/annotations/{annotation['id']}").json()["annotations"]
    assert [(note["text"], note["tag"]) for note in rest] == [("all charts", None)]
    assert client.delete(f"/api/v1/notes/annotations/{annotation['id']}").status_code == 404


def test_unwritable_data_dir_returns_503(client: TestClient, data_dir: Path) -> None:
    data_dir.touch()
    response = client.patch("/api/v1/notes/runs", json={"runs": ["vit"], "note": "x"})
    assert response.status_code == 503
    assert str(data_dir) in response.json()["error"]["message"]
    assert "TRACKLIGHT_DATA_DIR" in response.json()["error"]["hint"]


def test_labels_are_added_and_removed_one_by_one(client: TestClient) -> None:
    for update in ({"labels": ["a", "b"]}, {"add_labels": ["c", "a"]}, {"remove_labels": ["b"]}):
        response = client.patch("/api/v1/notes/runs", json={"runs": ["vit"], **update})
    assert response.json()["runs"]["vit"]["labels"] == ["a", "c"]


def test_conflicting_edit_changes_nothing(client: TestClient) -> None:
    def save(**update: object) -> int:
        response = client.patch("/api/v1/notes/runs", json={"runs": ["vit"], **update})
        return response.status_code

    assert save(note="mine", expected={"note": ""}) == 200
    # Another browser has not seen that change.
    assert save(note="theirs", expected={"note": ""}) == 409
    assert client.get("/api/v1/notes").json()["runs"]["vit"]["note"] == "mine"
    # Other fields, and the same change, are no conflict.
    assert save(alias="ViT", expected={"alias": ""}) == 200
    assert save(note="mine", expected={"note": ""}) == 200
    assert save(note="both", expected={"note": "mine"}) == 200
    error = client.patch(
        "/api/v1/notes/runs", json={"runs": ["vit"], "alias": "x", "expected": {"alias": "y"}}
    ).json()["error"]
    assert '"ViT"' in error["message"]
    assert error["code"] == "notes.conflict"


def test_two_servers_of_one_log_lose_no_edit(
    client: TestClient, source: MemorySource, tmp_path: Path
) -> None:
    app = create_app(source, MemoryWatch(), create_policy("localhost"), page_dir=tmp_path)
    with TestClient(app, base_url="http://localhost:6007") as other:
        last_event = other.get("/api/v1/live/poll").json()["last_event"]

        def save(server: TestClient, **update: object) -> int:
            body = {"runs": ["vit"], **update}
            return server.patch("/api/v1/notes/runs", json=body).status_code

        assert save(client, note="mine", expected={"note": ""}) == 200
        # The other server tells its pages.
        wait_until(
            lambda: (
                "notes"
                in [
                    event["name"]
                    for event in other.get(
                        "/api/v1/live/poll", params={"last_event": last_event}
                    ).json()["events"]
                ]
            )
        )
        # An edit of a page that has not seen it is a conflict there as well.
        assert save(other, note="theirs", expected={"note": ""}) == 409
        # Edits of other fields, and of tags one by one, are kept beside each other.
        assert save(other, alias="ViT", expected={"alias": ""}) == 200
        assert save(client, add_labels=["best"]) == 200
        assert save(other, add_labels=["paper"]) == 200
        stored = [server.get("/api/v1/notes").json()["runs"]["vit"] for server in (client, other)]
        assert stored[0] == stored[1]
        fields = stored[0]["note"], stored[0]["alias"], stored[0]["labels"]
        assert fields == ("mine", "ViT", ["best", "paper"])
