from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from tracklight.errors import SaveError
from tracklight.server.notes import NotesDocument, NotesStore, RunNoteUpdate


def say(store: NotesStore, name: str, note: str) -> NotesDocument:
    return store.update(lambda book: book.with_run_update(RunNoteUpdate([name], note=note)))


def say_many(path: Path, name: str, count: int) -> None:
    store = NotesStore(path)
    for number in range(count):
        say(store, f"{name}{number}", "seen")


def test_nothing_is_written_before_the_first_change(tmp_path: Path) -> None:
    store = NotesStore(tmp_path / "data" / "book.json")
    assert store.read() == NotesDocument()
    assert list(tmp_path.iterdir()) == []


def test_what_is_said_is_there_for_the_next_server(tmp_path: Path) -> None:
    path = tmp_path / "data" / "book.json"
    book = say(NotesStore(path), "run", "the best so far")
    assert (book.revision, book.runs["run"].note) == (1, "the best so far")
    assert NotesStore(path).read() == book


def test_two_servers_see_what_the_other_was_told(tmp_path: Path) -> None:
    one, two = NotesStore(tmp_path / "book.json"), NotesStore(tmp_path / "book.json")
    say(one, "a", "first")
    say(two, "b", "second")
    assert one.read().runs.keys() == {"a", "b"}
    say(one, "a", "third")
    assert two.read().runs["a"].note == "third"


def test_changes_by_two_processes_are_all_kept(tmp_path: Path) -> None:
    path = tmp_path / "book.json"
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for done in [pool.submit(say_many, path, name, 20) for name in "ab"]:
            done.result()
    book = NotesStore(path).read()
    assert (len(book.runs), book.revision) == (40, 40)


@pytest.mark.parametrize("content", [b"", b"{", b'{"runs": 5}', b"\xff\xfe"])
def test_a_damaged_file_is_put_aside_and_stops_nothing(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "book.json"
    path.write_bytes(content)
    store = NotesStore(path)
    assert store.read() == NotesDocument()
    assert say(store, "run", "new").runs["run"].note == "new"
    (aside,) = tmp_path.glob("*.damaged-*")
    assert aside.read_bytes() == content


def test_a_file_that_went_away_is_an_empty_book(tmp_path: Path) -> None:
    store = NotesStore(tmp_path / "book.json")
    say(store, "run", "gone")
    store.path.unlink()
    assert store.read() == NotesDocument()


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    store = NotesStore(tmp_path / "file" / "book.json")
    with pytest.raises(SaveError, match="could not save"):
        say(store, "run", "lost")


def test_what_cannot_be_read_just_now_is_neither_lost_nor_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = NotesStore(tmp_path / "book.json")
    say(store, "run", "precious")
    say(NotesStore(store.path), "other", "more")
    written = store.path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", _refuse)
        assert store.read().runs.keys() == {"run"}
        with pytest.raises(SaveError):
            say(store, "third", "too much")
    assert store.path.read_bytes() == written


def test_only_the_owner_may_read_notes(tmp_path: Path) -> None:
    store = NotesStore(tmp_path / "data" / "book.json")
    say(store, "run", "private")
    if os.name == "posix":
        assert store.path.parent.stat().st_mode & 0o077 == 0


def _refuse(_: Path) -> bytes:
    raise OSError(5, "Input/output error")
