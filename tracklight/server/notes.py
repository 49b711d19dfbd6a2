"""The answers on what users say: notes on runs, annotations at steps, layouts, rules for alerts."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from typing import Annotated

import msgspec

from tracklight.errors import LogError, UsageError
from tracklight.notes.book import Annotation, Book, Layout, Rule, RunChange, RunNote
from tracklight.notes.store import Store
from tracklight.plugin_base import Nothing, Route
from tracklight.server.alerts import Alerts, AlertsAnswer

_MOST_LAYOUTS = 100


class NotesAnswer(msgspec.Struct):
    """Everything that is kept beside the log; ``revision`` grows with every change."""

    revision: int
    runs: dict[str, RunNote]
    annotations: tuple[Annotation, ...]
    layouts: tuple[Layout, ...]
    alerts: AlertsAnswer


class NewAnnotation(msgspec.Struct, forbid_unknown_fields=True):
    """A word at a step; ``tag`` null puts it on every chart."""

    step: float
    text: Annotated[str, msgspec.Meta(min_length=1, max_length=10_000)]
    tag: str | None = None


class AnnotationId(msgspec.Struct):
    """One annotation."""

    id: str


class Notes:
    """Keeps what users say."""

    def __init__(self, store: Store, alerts: Alerts) -> None:
        self._store = store
        self._alerts = alerts

    def routes(self) -> Sequence[Route]:
        return [
            Route("notes", Nothing, self.read, "GET"),
            Route("notes/runs", RunChange, self.change_runs, "PATCH", mutates=True),
            Route("notes/annotations", NewAnnotation, self.annotate, "POST", mutates=True),
            Route(
                "notes/annotations/{id}",
                AnnotationId,
                self.remove_annotation,
                "DELETE",
                mutates=True,
            ),
            Route("notes/layouts", Layout, self.set_layout, "PUT", mutates=True),
            Route("alerts/rules", list[Rule], self.set_rules, "PUT", mutates=True),
        ]

    def read(self, _: Nothing) -> NotesAnswer:
        """All notes, annotations and alerts."""
        return self._answer(self._store.read())

    def change_runs(self, change: RunChange) -> NotesAnswer:
        """Set some fields of the notes on some runs; an empty text takes one away."""
        return self._change(lambda book: book.with_change(change))

    def annotate(self, new: NewAnnotation) -> NotesAnswer:
        """Put a word at a step."""
        created = Annotation(secrets.token_hex(6), new.step, new.text, new.tag, time.time())
        return self._change(lambda book: book.with_annotation(created))

    def remove_annotation(self, ask: AnnotationId) -> NotesAnswer:
        """Take an annotation away."""
        if all(note.id != ask.id for note in self._store.read().annotations):
            raise LogError(f'no annotation "{ask.id}"')
        return self._change(lambda book: book.without_annotation(ask.id))

    def set_layout(self, layout: Layout) -> NotesAnswer:
        """Keep a layout of charts under its name; without categories it is taken away."""
        known = {kept.name for kept in self._store.read().layouts}
        if len(known | {layout.name}) > _MOST_LAYOUTS:
            raise UsageError(f"there are already {_MOST_LAYOUTS} layouts: remove one first")
        return self._change(lambda book: book.with_layout(layout))

    def set_rules(self, rules: list[Rule]) -> NotesAnswer:
        """Replace the rules for alerts, but for those that are fixed."""
        self._alerts.set_rules(rules)
        return self._answer(self._store.read())

    def _change(self, edit: Callable[[Book], Book]) -> NotesAnswer:
        book = self._store.change(edit)
        self._alerts.look()
        return self._answer(book)

    def _answer(self, book: Book) -> NotesAnswer:
        return NotesAnswer(
            revision=book.revision,
            runs=book.runs,
            annotations=book.annotations,
            layouts=book.layouts,
            alerts=self._alerts.answer(),
        )
