"""Workspaces and reports are saved beside the log, and conflicting changes are refused."""

from __future__ import annotations

import dataclasses
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from starlette.testclient import TestClient

from tests.dashboards.opening import make_context
from tests.server.memory_source import MemorySource
from tests.server.waiting import wait_until
from tracklight.dashboards.workspaces import (
    VERSION_INTERVAL_S,
    BoardCard,
    BoardDocument,
    BoardSection,
    DocumentStore,
    Workspaces,
    split_blocks,
)
from tracklight.errors import ConflictError, LogError
from tracklight.index.catalog import Catalog

ROOTS = ["/logs"]
CARD = BoardCard("c1", "scalars", "loss", settings={"smoothing": "0.9"}, runs=("conv",))
BOARD = BoardDocument(
    "b1", "workspace", "Board", sections=(BoardSection("s1", "Loss", cards=(CARD,)),)
)


@pytest.fixture(autouse=True)
def data_dir(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("TRACKLIGHT_DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "data"


def rename(document: BoardDocument, name: str) -> BoardDocument:
    return msgspec.structs.replace(document, name=name)


def save(client: TestClient, document: BoardDocument, expected: int) -> Any:
    body = {"document": msgspec.to_builtins(document), "expected": expected}
    return client.put("/api/v1/workspaces/document", json=body)


def test_document_is_saved_and_listed(client: TestClient, data_dir: Path) -> None:
    assert client.get("/api/v1/workspaces/documents").json() == {"documents": [], "default": None}
    assert not data_dir.exists()
    assert save(client, BOARD, 0).json()["revision"] == 1
    stored = client.get("/api/v1/workspaces/document", params={"id": "b1"}).json()
    assert msgspec.convert(stored["document"], BoardDocument) == BOARD
    client.put("/api/v1/workspaces/default", json={"id": "b1"})
    listed = client.get("/api/v1/workspaces/documents").json()
    assert listed["default"] == "b1"
    assert [(row["name"], row["cards"]) for row in listed["documents"]] == [("Board", 1)]


def test_change_of_an_old_revision_is_refused(client: TestClient) -> None:
    save(client, BOARD, 0)
    assert save(client, rename(BOARD, "Mine"), 1).status_code == 200
    refused = save(client, rename(BOARD, "Yours"), 1)
    assert refused.status_code == 409
    assert refused.json()["error"]["message"] == 'Someone else has changed "Mine" meanwhile.'
    stored = client.get("/api/v1/workspaces/document", params={"id": "b1"}).json()
    assert (stored["document"]["name"], stored["revision"]) == ("Mine", 2)


def test_same_change_twice_is_no_conflict(client: TestClient) -> None:
    save(client, BOARD, 0)
    assert save(client, BOARD, 0).json()["revision"] == 1


def test_delete_also_clears_the_default(client: TestClient) -> None:
    save(client, BOARD, 0)
    client.put("/api/v1/workspaces/default", json={"id": "b1"})
    url = "/api/v1/workspaces/document"
    assert client.delete(url, params={"id": "b1", "expected": 7}).status_code == 409
    deleted = client.delete(url, params={"id": "b1", "expected": 1})
    assert deleted.json() == {"documents": [], "default": None}
    assert client.get(url, params={"id": "b1"}).status_code == 404


@pytest.mark.parametrize(
    ("field", "value"),
    [("id", "../x"), ("kind", "board"), ("name", ""), ("text", 5), ("sections", [{"id": ""}])],
)
def test_invalid_document_is_refused(client: TestClient, field: str, value: object) -> None:
    document = {**msgspec.to_builtins(BOARD), field: value}
    response = client.put("/api/v1/workspaces/document", json={"document": document})
    assert response.status_code == 400
    assert field in response.json()["error"]["message"]


def test_earlier_states_become_versions() -> None:
    now = 1000.0
    store = DocumentStore(ROOTS, lambda: now)
    for revision, name in enumerate("abcd"):
        store.save(rename(BOARD, name), revision)
    # All within a few minutes: only the first state is a version.
    assert [version.document.name for version in store.list_versions("b1")] == ["a"]
    now += VERSION_INTERVAL_S
    store.save(rename(BOARD, "e"), 4)
    store.save(rename(BOARD, "f"), 5)
    store.save(rename(BOARD, "g"), 6, keep_version=True)
    assert [version.document.name for version in store.list_versions("b1")] == ["f", "e", "a"]
    assert store.get_version("b1", 1).document.name == "a"
    with pytest.raises(LogError, match="version 2 is no longer stored"):
        store.get_version("b1", 2)


def test_deleted_document_is_a_version() -> None:
    store = DocumentStore(ROOTS)
    store.save(BOARD, 0)
    store.delete("b1", 1)
    assert store.get_version("b1", 1).document == BOARD


def add_cards(name: str, count: int) -> int:
    """Add cards as a page does: after a conflict, read the document and try again."""
    store = DocumentStore(ROOTS)
    conflicts = 0
    for number in range(count):
        while True:
            stored = store.get("b1")
            (section,) = stored.document.sections
            card = BoardCard(f"{name}{number}", "scalars", "loss")
            changed = msgspec.structs.replace(section, cards=(*section.cards, card))
            document = msgspec.structs.replace(stored.document, sections=(changed,))
            try:
                store.save(document, stored.revision)
                break
            except ConflictError:
                conflicts += 1
    return conflicts


def test_two_servers_lose_no_change() -> None:
    DocumentStore(ROOTS).save(BOARD, 0)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for future in [pool.submit(add_cards, name, 15) for name in "xy"]:
            future.result()
    stored = DocumentStore(ROOTS).get("b1")
    assert (len(stored.document.sections[0].cards), stored.revision) == (31, 31)


def test_changes_are_announced(client: TestClient) -> None:
    client.get("/api/v1/workspaces/documents")
    last_event = client.get("/api/v1/live/poll").json()["last_event"]

    def count_events() -> int:
        events = client.get("/api/v1/live/poll", params={"last_event": last_event}).json()["events"]
        assert all(event["data"]["name"] == "workspaces" for event in events)
        return len(events)

    save(client, BOARD, 0)
    assert count_events() == 1
    client.get("/api/v1/workspaces/document", params={"id": "b1"})
    assert count_events() == 1
    # Another server of the same log.
    DocumentStore(ROOTS).save(rename(BOARD, "Yours"), 1)
    wait_until(lambda: count_events() == 2)
    # A page that was not connected meanwhile gets the latest revision.
    (event,) = client.get("/api/v1/live/poll").json()["events"]
    assert event["name"] == "dashboard"
    assert event["data"]["revision"] == DocumentStore(ROOTS).get_revision()


def test_texts_of_cards_are_rendered(client: TestClient) -> None:
    note = BoardCard("n1", "note", "Some *text*")
    section = BoardSection("s1", cards=(CARD, note))
    saved = save(client, msgspec.structs.replace(BOARD, sections=(section,)), 0).json()
    assert list(saved["notes"]) == ["n1"]
    assert "<em>text</em>" in saved["notes"]["n1"][0]["html"]


def test_report_is_split_at_its_cards() -> None:
    text = "# Title\n\n![[c1]]\n\nSome *text* with ![[c2]] in it.\n\n```\n![[c3]]\n```\n![[c4]]\n"
    blocks = split_blocks(text)
    assert [block.card for block in blocks] == [None, "c1", None, "c4"]
    assert blocks[0].html is not None and "<h1" in blocks[0].html
    assert blocks[2].html is not None and "<em>text</em>" in blocks[2].html
    assert "c3" in blocks[2].html


def test_report_is_sanitized() -> None:
    (block,) = split_blocks("<script>alert(1)</script> [x](javascript:alert(1))")
    assert block.html is not None
    assert "<script" not in block.html
    assert 'href="javascript' not in block.html


@pytest.mark.parametrize(
    ("view", "exported"),
    [
        ({}, ["b1", "b2"]),
        ({"tab": "workspaces", "workspace": "b2"}, ["b2"]),
        ({"tab": "scalars"}, []),
    ],
)
def test_static_export_has_the_documents_of_the_view(
    source: MemorySource, view: dict[str, str], exported: list[str]
) -> None:
    context = make_context(cast(Catalog, source))
    store = DocumentStore(root.path for root in source.roots)
    for id in ("b1", "b2"):
        store.save(msgspec.structs.replace(BOARD, id=id), 0)
    dashboard = Workspaces(dataclasses.replace(context, view=view))
    parts = dict(dashboard.export_static(["conv"]))
    assert [path for path in parts if path != "documents"] == [
        f"document?id={id}" for id in exported
    ]
    assert ("documents" in parts) == bool(exported)
