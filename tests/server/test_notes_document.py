from __future__ import annotations

import msgspec
import pytest

from tracklight.server.notes import Annotation, ChartLayout, NotesDocument, RunNote, RunNoteUpdate
from tracklight.types import LayoutCategory


def test_update_keeps_other_fields() -> None:
    notes = NotesDocument(
        runs={"a": RunNote(note="good", labels=("best",)), "b": RunNote(alias="B")}
    )
    changed = notes.with_run_update(RunNoteUpdate(["a", "c"], hidden=True))
    assert changed.runs == {
        "b": RunNote(alias="B"),
        "a": RunNote(note="good", labels=("best",), hidden=True),
        "c": RunNote(hidden=True),
    }
    assert "c" not in notes.runs


def test_empty_notes_are_removed() -> None:
    notes = NotesDocument(runs={"a": RunNote(note="good")})
    assert notes.with_run_update(RunNoteUpdate(["a"], note="")).runs == {}


def test_annotations_are_added_and_removed() -> None:
    annotations = [Annotation(id, 10.0, "restart", None, 1.7e9) for id in "xy"]
    notes = NotesDocument().with_annotation(annotations[0]).with_annotation(annotations[1])
    assert notes.without_annotation("x").annotations == (annotations[1],)
    assert notes.without_annotation("z") == notes


def test_layouts_are_replaced_by_name() -> None:
    first, second = (ChartLayout(name, (LayoutCategory("Quality"),)) for name in ("one", "two"))
    notes = NotesDocument().with_layout(first).with_layout(second)
    changed = ChartLayout("one", (LayoutCategory("Speed"),))
    assert notes.with_layout(changed).layouts == (changed, second)
    assert notes.with_layout(ChartLayout("one")).layouts == (second,)


@pytest.mark.parametrize(
    "update",
    [
        {"runs": []},
        {"runs": ["a"], "color": "red;background:url(x)"},
        {"runs": ["a"], "note": "x" * 10_001},
        {"runs": ["a"], "labels": ["x"] * 51},
        {"runs": ["a"], "colour": "#ffffff"},
    ],
)
def test_invalid_updates_are_rejected(update: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(update, RunNoteUpdate)
