"""What users add to a log: notes on runs, annotations, layouts, derived metrics and alert rules.

They are stored in one JSON file per log in the user's data directory, never in the log itself.
Several servers may show the same log and change the file at the same time.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from tracklight.analysis.derived_metrics import DerivedMetric
from tracklight.analysis.source import Empty
from tracklight.errors import ConflictError, LogError, UsageError
from tracklight.plugin import Route
from tracklight.server.alerts import AlertRule
from tracklight.server.alerts.monitor import AlertService, AlertsResponse
from tracklight.types import LayoutCategory
from tracklight.util.files import JsonFile

_MAX_LAYOUTS = 100
_MAX_METRICS = 100
_MAX_LABELS = 50

_Text = Annotated[str, msgspec.Meta(max_length=10_000)]
_ShortText = Annotated[str, msgspec.Meta(max_length=200)]
_Color = Annotated[str, msgspec.Meta(pattern=r"^(#[0-9a-fA-F]{6})?$")]
_Labels = Annotated[tuple[_ShortText, ...], msgspec.Meta(max_length=_MAX_LABELS)]


# ---- the document


class RunNote(msgspec.Struct, frozen=True):
    """The notes on one run; empty texts are unset."""

    note: _Text = ""
    alias: _ShortText = ""
    hidden: bool = False
    color: _Color = ""
    labels: _Labels = ()
    pinned: bool = False


class ExpectedNote(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an edit assumes to be stored; fields that are left out are not checked."""

    note: str | msgspec.UnsetType = msgspec.UNSET
    alias: str | msgspec.UnsetType = msgspec.UNSET
    labels: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET


class RunNoteUpdate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """New values for the notes on some runs; fields that are left out stay as they are.

    ``add_labels`` and ``remove_labels`` change single labels, whatever the others are. With
    ``expected``, nothing is changed if another value was stored meanwhile, and the response is an
    error with status 409.
    """

    runs: Annotated[list[str], msgspec.Meta(min_length=1)]
    note: _Text | msgspec.UnsetType = msgspec.UNSET
    alias: _ShortText | msgspec.UnsetType = msgspec.UNSET
    hidden: bool | msgspec.UnsetType = msgspec.UNSET
    color: _Color | msgspec.UnsetType = msgspec.UNSET
    labels: _Labels | msgspec.UnsetType = msgspec.UNSET
    pinned: bool | msgspec.UnsetType = msgspec.UNSET
    add_labels: _Labels = ()
    remove_labels: _Labels = ()
    expected: ExpectedNote = ExpectedNote()


class Annotation(msgspec.Struct, frozen=True):
    """A text at a step, on the charts of ``tag`` or, if it is null, on all charts."""

    id: str
    step: float
    text: _Text
    tag: str | None
    created: float


class ChartLayout(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A named layout of charts; without ``categories`` it is deleted."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    categories: Annotated[tuple[LayoutCategory, ...], msgspec.Meta(max_length=200)] | None = None


class MetricUpdate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A derived metric to save; without ``expression`` it is deleted.

    ``expected`` is the expression that the edit assumes to be stored, null for a new metric. If
    another one is stored, nothing is changed, and the response is an error with status 409.
    """

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    expression: Annotated[str, msgspec.Meta(min_length=1, max_length=1000)] | None = None
    expected: str | None = None


class NotesDocument(msgspec.Struct, frozen=True):
    """The content of the file. The ``with_`` methods return changed copies."""

    revision: int = 0
    runs: dict[str, RunNote] = {}
    annotations: tuple[Annotation, ...] = ()
    rules: tuple[AlertRule, ...] = ()
    layouts: tuple[ChartLayout, ...] = ()
    metrics: tuple[DerivedMetric, ...] = ()

    def with_run_update(self, update: RunNoteUpdate) -> NotesDocument:
        """Return a copy with changed notes on some runs.

        Raises:
            ConflictError: A note is not what the update expects.
        """
        values = msgspec.structs.asdict(update)
        fields = {
            field: values[field]
            for field in RunNote.__struct_fields__
            if values[field] is not msgspec.UNSET
        }
        runs = dict(self.runs)
        for name in update.runs:
            before = runs.pop(name, RunNote())
            _check_expected(name, before, update)
            note = msgspec.structs.replace(before, **fields)
            note = msgspec.structs.replace(note, labels=_change_labels(note.labels, update))
            if note != RunNote():
                runs[name] = note
        return msgspec.structs.replace(self, runs=runs)

    def with_annotation(self, annotation: Annotation) -> NotesDocument:
        return msgspec.structs.replace(self, annotations=(*self.annotations, annotation))

    def without_annotation(self, id: str) -> NotesDocument:
        annotations = tuple(annotation for annotation in self.annotations if annotation.id != id)
        return msgspec.structs.replace(self, annotations=annotations)

    def with_layout(self, layout: ChartLayout) -> NotesDocument:
        """Replace the layout of the same name, or append a new one."""
        layouts = list(self.layouts)
        names = [item.name for item in layouts]
        if layout.name in names:
            layouts[names.index(layout.name)] = layout
        else:
            layouts.append(layout)
        remaining = tuple(item for item in layouts if item.categories is not None)
        return msgspec.structs.replace(self, layouts=remaining)

    def with_metric(self, update: MetricUpdate) -> NotesDocument:
        """Return a copy with a metric added, replaced or deleted.

        Raises:
            ConflictError: The stored expression is not what the update expects.
            UsageError: There are too many metrics.
        """
        metrics = {metric.name: metric for metric in self.metrics}
        before = metrics.get(update.name)
        stored = None if before is None else before.expression
        if stored not in (update.expected, update.expression):
            raise ConflictError(
                "notes.metric_conflict",
                'someone else has changed the metric "{name}" to "{expression}"',
                name=update.name,
                expression=stored or "",
            )
        if update.expression is None:
            metrics.pop(update.name, None)
        else:
            metrics[update.name] = DerivedMetric(update.name, update.expression)
        if len(metrics) > _MAX_METRICS:
            raise UsageError(
                "notes.too_many_metrics",
                "there are already {max_metrics} derived metrics: delete one first",
                max_metrics=_MAX_METRICS,
            )
        return msgspec.structs.replace(self, metrics=tuple(metrics.values()))

    def with_rules(self, rules: tuple[AlertRule, ...]) -> NotesDocument:
        return msgspec.structs.replace(self, rules=rules)


def _check_expected(run: str, before: RunNote, update: RunNoteUpdate) -> None:
    for field, expected in msgspec.structs.asdict(update.expected).items():
        stored = getattr(before, field)
        # Two users who make the same change are not in conflict.
        if expected in (msgspec.UNSET, stored) or stored == getattr(update, field):
            continue
        text = ", ".join(stored) if isinstance(stored, tuple) else stored
        raise ConflictError(
            "notes.conflict",
            'someone else has changed this field of "{run}" to "{text}"',
            run=run,
            text=text,
        )


def _change_labels(labels: tuple[str, ...], update: RunNoteUpdate) -> tuple[str, ...]:
    kept = [label for label in labels if label not in update.remove_labels]
    return tuple(dict.fromkeys([*kept, *update.add_labels]))[:_MAX_LABELS]


class NotesStore:
    """The file with the notes on a log, shared by all servers of the log."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = JsonFile(path, NotesDocument, NotesDocument)

    def read(self) -> NotesDocument:
        """Return the current notes; if they cannot be read now, the last known ones."""
        return self._file.read()

    def update(self, edit: Callable[[NotesDocument], NotesDocument]) -> NotesDocument:
        """Replace the notes by ``edit(notes)``, with the next revision, and return them.

        Raises:
            SaveError: The file cannot be read or written.
        """
        return self._file.update(
            lambda notes: msgspec.structs.replace(edit(notes), revision=notes.revision + 1)
        )

    def read_metrics(self) -> tuple[DerivedMetric, ...]:
        return self.read().metrics

    def read_rules(self) -> tuple[int, tuple[AlertRule, ...]]:
        notes = self.read()
        return notes.revision, notes.rules

    def save_rules(self, rules: tuple[AlertRule, ...]) -> None:
        self.update(lambda notes: notes.with_rules(rules))


# ---- routes


class NotesResponse(msgspec.Struct):
    """Everything that is stored beside the log; ``revision`` grows with every change."""

    revision: int
    runs: dict[str, RunNote]
    annotations: tuple[Annotation, ...]
    layouts: tuple[ChartLayout, ...]
    metrics: tuple[DerivedMetric, ...]
    alerts: AlertsResponse


class AnnotationRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A text at a step; with ``tag`` null it is shown on all charts."""

    step: float
    text: Annotated[str, msgspec.Meta(min_length=1, max_length=10_000)]
    tag: str | None = None


class DeleteAnnotationRequest(msgspec.Struct):
    """The annotation to delete."""

    id: str


class NotesApi:
    """The routes below ``notes`` and ``alerts``. All of them return the current notes.

    Args:
        store: The stored notes.
        alerts: The alerts, which are part of every response.
        check_metric: Raises UsageError if a derived metric cannot be added.
    """

    def __init__(
        self,
        store: NotesStore,
        alerts: AlertService,
        check_metric: Callable[[DerivedMetric], None],
    ) -> None:
        self._store = store
        self._alerts = alerts
        self._check_metric = check_metric

    def routes(self) -> Sequence[Route]:
        return [
            Route("notes", Empty, self.read_notes, "GET"),
            Route("notes/runs", RunNoteUpdate, self.update_runs, "PATCH", mutates=True),
            Route(
                "notes/annotations", AnnotationRequest, self.add_annotation, "POST", mutates=True
            ),
            Route(
                "notes/annotations/{id}",
                DeleteAnnotationRequest,
                self.remove_annotation,
                "DELETE",
                mutates=True,
            ),
            Route("notes/layouts", ChartLayout, self.set_layout, "PUT", mutates=True),
            Route("notes/metrics", MetricUpdate, self.set_metric, "PUT", mutates=True),
            Route("alerts/rules", list[AlertRule], self.set_rules, "PUT", mutates=True),
        ]

    def read_notes(self, _: Empty) -> NotesResponse:
        """Return all notes, annotations, layouts, derived metrics and alerts."""
        return self._create_response(self._store.read())

    def update_runs(self, update: RunNoteUpdate) -> NotesResponse:
        """Set some fields of the notes on some runs; an empty text removes one.

        Status 409 means that a field is not what the request expects; nothing was changed then.
        """
        return self._update(lambda notes: notes.with_run_update(update))

    def add_annotation(self, request: AnnotationRequest) -> NotesResponse:
        """Add an annotation at a step."""
        annotation = Annotation(
            secrets.token_hex(6), request.step, request.text, request.tag, time.time()
        )
        return self._update(lambda notes: notes.with_annotation(annotation))

    def remove_annotation(self, request: DeleteAnnotationRequest) -> NotesResponse:
        """Delete an annotation."""
        if all(annotation.id != request.id for annotation in self._store.read().annotations):
            raise LogError("notes.no_annotation", 'there is no annotation "{id}"', id=request.id)
        return self._update(lambda notes: notes.without_annotation(request.id))

    def set_layout(self, layout: ChartLayout) -> NotesResponse:
        """Save a layout of charts under its name; without categories, delete it."""
        names = {item.name for item in self._store.read().layouts}
        if len(names | {layout.name}) > _MAX_LAYOUTS:
            raise UsageError(
                "notes.too_many_layouts",
                "there are already {max_layouts} layouts: delete one first",
                max_layouts=_MAX_LAYOUTS,
            )
        return self._update(lambda notes: notes.with_layout(layout))

    def set_metric(self, update: MetricUpdate) -> NotesResponse:
        """Save a derived metric under its name; without an expression, delete it.

        Status 409 means that the stored expression is not what the request expects.
        """
        if update.expression is not None:
            self._check_metric(DerivedMetric(update.name, update.expression))
        return self._update(lambda notes: notes.with_metric(update))

    def set_rules(self, rules: list[AlertRule]) -> NotesResponse:
        """Replace all alert rules except those of the command line."""
        self._alerts.set_rules(rules)
        return self._create_response(self._store.read())

    def _update(self, edit: Callable[[NotesDocument], NotesDocument]) -> NotesResponse:
        notes = self._store.update(edit)
        self._alerts.request_reload()
        return self._create_response(notes)

    def _create_response(self, notes: NotesDocument) -> NotesResponse:
        return NotesResponse(
            revision=notes.revision,
            runs=notes.runs,
            annotations=notes.annotations,
            layouts=notes.layouts,
            metrics=notes.metrics,
            alerts=self._alerts.create_response(),
        )
