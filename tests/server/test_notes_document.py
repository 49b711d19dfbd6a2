from __future__ import annotations

import msgspec
import pytest

from tracklight.server.notes import Annotation, ChartLayout, NotesDocument, RunNote, RunNoteUpdate
from tracklight.types import LayoutCategory


def test_a_change_leaves_alone_what_it_does_not_name() -> None:
    book = NotesDocument(
        runs={"a": RunNote(note="good", labels=("best",)), "b": RunNote(alias="B")}
    )
    changed = book.with_run_update(RunNoteUpdate(["a", "c"], hidden=True))
    assert changed.runs == {
        "b": RunNote(alias="B"),
        "a": RunNote(note="good", labels=("best",), hidden=True),
        "c": RunNote(hidden=True),
    }
    assert "c" not in book.runs


def test_a_run_of_which_nothing_is_said_is_forgotten() -> None:
    book = NotesDocument(runs={"a": RunNote(note="good")})
    assert book.with_run_update(RunNoteUpdate(["a"], note="")).runs == {}


def test_annotations_come_and_go() -> None:
    notes = [Annotation(id, 10.0, "restart", None, 1.7e9) for id in "xy"]
    book = NotesDocument().with_annotation(notes[0]).with_annotation(notes[1])
    assert book.without_annotation("x").annotations == (notes[1],)
    assert book.without_annotation("z") == book


def test_layouts_are_kept_by_name_until_they_are_taken_away() -> None:
    first, second = (ChartLayout(name, (LayoutCategory("Quality"),)) for name in ("one", "two"))
    book = NotesDocument().with_layout(first).with_layout(second)
    changed = ChartLayout("one", (LayoutCategory("Speed"),))
    assert book.with_layout(changed).layouts == (changed, second)
    assert book.with_layout(ChartLayout("one")).layouts == (second,)


@pytest.mark.parametrize(
    "wrong",
    [
        {"names": []},
        {"names": ["a"], "colour": "red;background:url(x)"},
        {"names": ["a"], "note": "x" * 10_001},
        {"names": ["a"], "labels": ["x"] * 51},
        {"names": ["a"], "color": "#ffffff"},
    ],
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(wrong, RunNoteUpdate)
