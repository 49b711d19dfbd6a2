"""Everything that is kept beside one log."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from tracklight.types import LayoutCategory
from tracklight.util.json_file import JsonFile

#: Long enough for a story, short enough that ten thousand of them still load at once.
_Text = Annotated[str, msgspec.Meta(max_length=10_000)]

_ShortText = Annotated[str, msgspec.Meta(max_length=200)]

_Color = Annotated[str, msgspec.Meta(pattern=r"^(#[0-9a-fA-F]{6})?$")]

_Labels = Annotated[tuple[_ShortText, ...], msgspec.Meta(max_length=50)]


class RunNote(msgspec.Struct, frozen=True):
    """What is kept of one run; an empty text is none."""

    note: _Text = ""
    alias: _ShortText = ""
    hidden: bool = False
    colour: _Color = ""
    labels: _Labels = ()


class RunNoteUpdate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """New values for all runs of these names; what is left out stays as it is."""

    names: Annotated[list[str], msgspec.Meta(min_length=1)]
    note: _Text | msgspec.UnsetType = msgspec.UNSET
    alias: _ShortText | msgspec.UnsetType = msgspec.UNSET
    hidden: bool | msgspec.UnsetType = msgspec.UNSET
    colour: _Color | msgspec.UnsetType = msgspec.UNSET
    labels: _Labels | msgspec.UnsetType = msgspec.UNSET


class Annotation(msgspec.Struct, frozen=True):
    """A word at a step, on the charts of ``tag`` or of every tag."""

    id: str
    step: float
    text: _Text
    tag: str | None
    created: float


class AlertRule(msgspec.Struct, frozen=True):
    """When to raise an alert; ``tag`` is a pattern for series, see docs/patterns.md."""

    id: _ShortText
    tag: Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]
    kind: Literal["above", "below", "nan", "stalled"]
    value: float | None = None
    """The threshold; for ``stalled``, the steps without improvement."""
    goal: Literal["min", "max"] | None = None
    """Whether lower or higher is better, for ``stalled``."""


class ChartLayout(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Charts that somebody laid out, under a name; without ``categories`` there is none."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    categories: Annotated[tuple[LayoutCategory, ...], msgspec.Meta(max_length=200)] | None = None


class NotesDocument(msgspec.Struct, frozen=True):
    """All of it; a change makes a new one whose ``revision`` is one higher."""

    revision: int = 0
    runs: dict[str, RunNote] = {}
    annotations: tuple[Annotation, ...] = ()
    rules: tuple[AlertRule, ...] = ()
    layouts: tuple[ChartLayout, ...] = ()

    def with_run_update(self, change: RunNoteUpdate) -> NotesDocument:
        news = msgspec.structs.asdict(change)
        names = news.pop("names")
        news = {field: value for field, value in news.items() if value is not msgspec.UNSET}
        runs = dict(self.runs)
        for name in names:
            changed = msgspec.structs.replace(runs.pop(name, RunNote()), **news)
            if changed != RunNote():
                runs[name] = changed
        return msgspec.structs.replace(self, runs=runs)

    def with_annotation(self, annotation: Annotation) -> NotesDocument:
        return msgspec.structs.replace(self, annotations=(*self.annotations, annotation))

    def without_annotation(self, id: str) -> NotesDocument:
        rest = tuple(note for note in self.annotations if note.id != id)
        return msgspec.structs.replace(self, annotations=rest)

    def with_layout(self, layout: ChartLayout) -> NotesDocument:
        """One of the same name goes; a new one comes last."""
        names = [kept.name for kept in self.layouts]
        kept = list(self.layouts)
        if layout.name in names:
            kept[names.index(layout.name)] = layout
        else:
            kept.append(layout)
        rest = tuple(it for it in kept if it.categories is not None)
        return msgspec.structs.replace(self, layouts=rest)

    def with_rules(self, rules: tuple[AlertRule, ...]) -> NotesDocument:
        return msgspec.structs.replace(self, rules=rules)


# The notes on a log in their file.


class NotesStore:
    """Notes, annotations, layouts and alert rules, shared by all servers of a log."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = JsonFile(path, NotesDocument, NotesDocument)

    def read(self) -> NotesDocument:
        """Return the current notes; if they cannot be read now, the last known ones."""
        return self._file.read()

    def update(self, edit: Callable[[NotesDocument], NotesDocument]) -> NotesDocument:
        """Replace the notes by ``edit(notes)``, with the next revision.

        Raises:
            NotKept: The file cannot be read or written.
        """
        return self._file.update(
            lambda book: msgspec.structs.replace(edit(book), revision=book.revision + 1)
        )
