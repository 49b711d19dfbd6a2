"""The overview of a capture, and its steps one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from tracklight.dashboards.profile.asks import CaptureAsk
from tracklight.dashboards.profile.opened import Opened
from tracklight.dashboards.profile.placing import get_ops
from tracklight.dashboards.profile.store import Store
from tracklight.dashboards.profile.tool import Tool, Why
from tracklight.media.reader import has_mark
from tracklight.plugin import Route
from tracklight.profiles.findings.thresholds import read_thresholds
from tracklight.profiles.steps.parts import Part
from tracklight.profiles.summary.summary import ProfileSummary, sum_up_division
from tracklight.types import Float64, Int64

_MS = 1e9


class PartColumns(msgspec.Struct):
    """One part of every step, in milliseconds."""

    name: str
    label: str
    counted: Float64
    """Each instant once."""
    alone: Float64
    """As if there were no other part."""


class StepsAnswer(msgspec.Struct):
    """One row a step, in milliseconds; ``averaged`` says which of them averages are of."""

    names: list[str]
    start_ms: Float64
    total_ms: Float64
    parts: list[PartColumns]
    other: Float64
    averaged: tuple[int, int]
    """The first of them, and the one after the last."""


def tell_overview(store: Store, ask: CaptureAsk) -> ProfileSummary:
    def make(opened: Opened) -> ProfileSummary:
        division = opened.divide(ask.marker, ask.rules)
        thresholds = read_thresholds(ask.thresholds)
        return sum_up_division(opened.trace, division, get_ops(opened, ask.rules), thresholds)

    return store.find(ask, "overview", ProfileSummary, make)


def tell_steps(store: Store, ask: CaptureAsk) -> StepsAnswer:
    return store.find(ask, "steps", StepsAnswer, lambda opened: _divide(opened, ask))


def _divide(opened: Opened, ask: CaptureAsk) -> StepsAnswer:
    steps, parts, *_, inner = opened.divide(ask.marker, ask.rules)
    count = len(steps.names)
    return StepsAnswer(
        names=list(steps.names),
        start_ms=_in_ms(steps.spans[:, 0]),
        total_ms=_in_ms(parts.total),
        parts=[
            PartColumns(
                part.name.lower(),
                part.label,
                _in_ms(parts.counted[:, part]),
                _in_ms(parts.alone[:, part]),
            )
            for part in Part
        ],
        other=_in_ms(parts.other),
        averaged=inner.indices(count)[:2],
    )


def _in_ms(ps: Int64) -> Float64:
    return ps / _MS


def _routes(store: Store) -> Sequence[Route]:
    def overview(ask: CaptureAsk) -> ProfileSummary:
        """A capture at a glance: its steps, what their time went into, and what to do about it."""
        return tell_overview(store, ask)

    def steps(ask: CaptureAsk) -> StepsAnswer:
        """What the time of every step went into."""
        return tell_steps(store, ask)

    return [
        Route("overview", CaptureAsk, overview, "GET", immutable=has_mark),
        Route("steps", CaptureAsk, steps, "GET", immutable=has_mark),
    ]


def explain_empty(opened: Opened) -> Why | None:
    """Why there are no events to say anything of."""
    if opened.file.kind == "pprof":
        return Why(
            "this is a profile of memory, which knows nothing of time",
            "record a trace as well: jax.profiler.trace(log_dir)",
        )
    return None if len(opened.trace) else Why("nothing was recorded", "record at least one step")


def _copies(store: Store, ask: CaptureAsk) -> Iterator[tuple[str, object]]:
    yield f"overview?capture={ask.capture}", tell_overview(store, ask)
    yield f"steps?capture={ask.capture}", tell_steps(store, ask)


TOOL = Tool("overview", "Overview", _routes, explain_empty, _copies)
