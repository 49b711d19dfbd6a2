"""Everything that is kept beside one log."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from tracklight.types import LayoutCategory

#: Long enough for a story, short enough that ten thousand of them still load at once.
_Text = Annotated[str, msgspec.Meta(max_length=10_000)]
_Word = Annotated[str, msgspec.Meta(max_length=200)]
_Colour = Annotated[str, msgspec.Meta(pattern=r"^(#[0-9a-fA-F]{6})?$")]
_Labels = Annotated[tuple[_Word, ...], msgspec.Meta(max_length=50)]


class RunNote(msgspec.Struct, frozen=True):
    """What is kept of one run; an empty text is none."""

    note: _Text = ""
    alias: _Word = ""
    hidden: bool = False
    colour: _Colour = ""
    labels: _Labels = ()


class RunChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """New values for all runs of these names; what is left out stays as it is."""

    names: Annotated[list[str], msgspec.Meta(min_length=1)]
    note: _Text | msgspec.UnsetType = msgspec.UNSET
    alias: _Word | msgspec.UnsetType = msgspec.UNSET
    hidden: bool | msgspec.UnsetType = msgspec.UNSET
    colour: _Colour | msgspec.UnsetType = msgspec.UNSET
    labels: _Labels | msgspec.UnsetType = msgspec.UNSET


class Annotation(msgspec.Struct, frozen=True):
    """A word at a step, on the charts of ``tag`` or of every tag."""

    id: str
    step: float
    text: _Text
    tag: str | None
    created: float


class Rule(msgspec.Struct, frozen=True):
    """When to raise an alert; ``tag`` is a pattern for series, see docs/patterns.md."""

    id: _Word
    tag: Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]
    kind: Literal["above", "below", "nan", "stalled"]
    value: float | None = None
    """The threshold; for ``stalled``, the steps without improvement."""
    goal: Literal["min", "max"] | None = None
    """Whether lower or higher is better, for ``stalled``."""


class Layout(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Charts that somebody laid out, under a name; without ``categories`` there is none."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    categories: Annotated[tuple[LayoutCategory, ...], msgspec.Meta(max_length=200)] | None = None


class Book(msgspec.Struct, frozen=True):
    """All of it; a change makes a new one whose ``revision`` is one higher."""

    revision: int = 0
    runs: dict[str, RunNote] = {}
    annotations: tuple[Annotation, ...] = ()
    rules: tuple[Rule, ...] = ()
    layouts: tuple[Layout, ...] = ()

    def with_change(self, change: RunChange) -> Book:
        news = msgspec.structs.asdict(change)
        names = news.pop("names")
        news = {field: value for field, value in news.items() if value is not msgspec.UNSET}
        runs = dict(self.runs)
        for name in names:
            changed = msgspec.structs.replace(runs.pop(name, RunNote()), **news)
            if changed != RunNote():
                runs[name] = changed
        return msgspec.structs.replace(self, runs=runs)

    def with_annotation(self, annotation: Annotation) -> Book:
        return msgspec.structs.replace(self, annotations=(*self.annotations, annotation))

    def without_annotation(self, id: str) -> Book:
        rest = tuple(note for note in self.annotations if note.id != id)
        return msgspec.structs.replace(self, annotations=rest)

    def with_layout(self, layout: Layout) -> Book:
        """One of the same name goes; a new one comes last."""
        names = [kept.name for kept in self.layouts]
        kept = list(self.layouts)
        if layout.name in names:
            kept[names.index(layout.name)] = layout
        else:
            kept.append(layout)
        rest = tuple(it for it in kept if it.categories is not None)
        return msgspec.structs.replace(self, layouts=rest)

    def with_rules(self, rules: tuple[Rule, ...]) -> Book:
        return msgspec.structs.replace(self, rules=rules)
