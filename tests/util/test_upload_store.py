"""Uploads in memory: which are kept."""

from __future__ import annotations

from tracklight.util.memory import UploadStore, make_upload_id


def test_drops_the_oldest() -> None:
    dropped: list[str] = []
    uploads: UploadStore[str] = UploadStore(max_items=2, on_drop=dropped.append)
    for name in ("a", "b", "c"):
        assert uploads.put(name, name.upper()) == name
    assert (uploads.find("a"), uploads.find("c")) == (None, "C")
    assert uploads.list_values() == ["B", "C"]
    assert dropped == ["A"]


def test_replaces_a_value_in_its_place() -> None:
    uploads: UploadStore[str] = UploadStore(max_items=2)
    for name, value in (("a", "A"), ("b", "B"), ("a", "new")):
        uploads.put(name, value)
    assert uploads.list_values() == ["new", "B"]


def test_keeps_to_the_budget_but_always_the_newest() -> None:
    uploads: UploadStore[str] = UploadStore(max_items=8, max_bytes=10)
    uploads.put("a", "A", 4)
    uploads.put("b", "B", 6)
    assert uploads.list_values() == ["A", "B"]
    uploads.put("c", "C", 5)
    assert uploads.list_values() == ["C"]
    uploads.put("d", "D", 100)
    assert uploads.list_values() == ["D"]


def test_removes() -> None:
    dropped: list[str] = []
    uploads: UploadStore[str] = UploadStore(max_items=2, on_drop=dropped.append)
    uploads.put("a", "A")
    uploads.remove("a")
    uploads.remove("a")
    assert (uploads.find("a"), dropped) == (None, ["A"])


def test_ids_differ() -> None:
    first, second = make_upload_id(), make_upload_id()
    assert first != second and first.startswith("upload-")
