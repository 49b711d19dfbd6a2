"""Input analysis: what a program waits for when it waits for its next batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracklight.dashboards.profile.asks import CaptureAsk
from tracklight.dashboards.profile.opened import Opened
from tracklight.dashboards.profile.overview import explain_empty, tell_overview
from tracklight.dashboards.profile.store import Store
from tracklight.dashboards.profile.tool import Tool, Why
from tracklight.media.reader import has_mark
from tracklight.plugin import Route
from tracklight.profiles.input.analysis import InputAnalysis, analyse_input, explain_no_input


def tell_input(store: Store, ask: CaptureAsk) -> InputAnalysis:
    """What a program waited for when it waited for its input, stage by stage."""

    def make(opened: Opened) -> InputAnalysis:
        division = opened.divide(ask.marker, ask.rules)
        findings = tell_overview(store, ask).findings
        return analyse_input(opened.trace, division, opened.framework, findings)

    return store.find(ask, "input", InputAnalysis, make)


def _explain(opened: Opened) -> Why | None:
    if (empty := explain_empty(opened)) is not None:
        return empty
    why = explain_no_input(opened.trace, opened.divide(), opened.framework)
    return Why(why) if why else None


def _routes(store: Store) -> Sequence[Route]:
    def answer(ask: CaptureAsk) -> InputAnalysis:
        """What a program waited for when it waited for its input, stage by stage."""
        return tell_input(store, ask)

    return [Route("input", CaptureAsk, answer, "GET", immutable=has_mark)]


def _copies(store: Store, ask: CaptureAsk) -> Iterator[tuple[str, object]]:
    yield f"input?capture={ask.capture}", tell_input(store, ask)


TOOL = Tool("input", "Input", _routes, _explain, _copies)
