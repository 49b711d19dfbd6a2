from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from tracklight.errors import SaveError
from tracklight.server.notes import NotesDocument, NotesStore, RunNoteUpdate


def set_note(store: NotesStore, name: str, note: str) -> NotesDocument:
    return store.update(lambda notes: notes.with_run_update(RunNoteUpdate([name], note=note)))


def set_many_notes(path: Path, name: str, count: int) -> None:
    store = NotesStore(path)
    for number in range(count):
        set_note(store, f"{name}{number}", "seen")


def test_no_file_before_the_first_update(tmp_path: Path) -> None:
    store = NotesStore(tmp_path / "data" / "notes.json")
    assert store.read() == NotesDocument()
    assert list(tmp_path.iterdir()) == []


def test_notes_persist(tmp_path: Path) -> None:
    path = tmp_path / "data" / "notes.json"
    notes = set_note(NotesStore(path), "run", "the best so far")
    assert (notes.revision, notes.runs["run"].note) == (1, "the best so far")
    assert NotesStore(path).read() == notes


def test_stores_see_the_updates_of_others(tmp_path: Path) -> None:
    one, two = NotesStore(tmp_path / "notes.json"), NotesStore(tmp_path / "notes.json")
    set_note(one, "a", "first")
    set_note(two, "b", "second")
    assert one.read().runs.keys() == {"a", "b"}
    set_note(one, "a", "third")
    assert two.read().runs["a"].note == "third"


def test_concurrent_updates_of_two_processes_are_all_saved(tmp_path: Path) -> None:
    path = tmp_path / "notes.json"
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for future in [pool.submit(set_many_notes, path, name, 20) for name in "ab"]:
            future.result()
    notes = NotesStore(path).read()
    assert (len(notes.runs), notes.revision) == (40, 40)


@pytest.mark.parametrize("content", [b"", b"{", b'{"runs": 5}', b"\xff\xfe"])
def test_damaged_file_is_renamed(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.json"
    path.write_bytes(content)
    store = NotesStore(path)
    assert store.read() == NotesDocument()
    assert set_note(store, "run", "new").runs["run"].note == "new"
    (renamed,) = tmp_path.glob("*.damaged-*")
    assert renamed.read_bytes() == content


def test_removed_file_is_empty(tmp_path: Path) -> None:
    store = NotesStore(tmp_path / "notes.json")
    set_note(store, "run", "gone")
    store.path.unlink()
    assert store.read() == NotesDocument()


def test_unwritable_folder_raises_save_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    store = NotesStore(tmp_path / "file" / "notes.json")
    with pytest.raises(SaveError, match="could not save"):
        set_note(store, "run", "lost")


def test_unreadable_file_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = NotesStore(tmp_path / "notes.json")
    set_note(store, "run", "precious")
    set_note(NotesStore(store.path), "other", "more")
    written = store.path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", _raise_os_error)
        assert store.read().runs.keys() == {"run"}
        with pytest.raises(SaveError):
            set_note(store, "third", "too much")
    assert store.path.read_bytes() == written


def test_only_the_owner_can_read_the_file(tmp_path: Path) -> None:
    store = NotesStore(tmp_path / "data" / "notes.json")
    set_note(store, "run", "private")
    if os.name == "posix":
        assert store.path.parent.stat().st_mode & 0o077 == 0


def _raise_os_error(_: Path) -> bytes:
    raise OSError(5, "Input/output error")
