"""Two captures side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from tracklight.dashboards.profile.asks import CaptureAsk, ask_before
from tracklight.dashboards.profile.overview import explain_empty, tell_overview
from tracklight.dashboards.profile.placing import get_ops
from tracklight.dashboards.profile.store import Store
from tracklight.dashboards.profile.tool import Tool
from tracklight.errors import TracklightError, UsageError
from tracklight.plugin import Route
from tracklight.profiles.summary.comparing import Compared, Comparison, compare

_MOST_COPIED = 4


def tell_comparison(store: Store, ask: CaptureAsk) -> Comparison:
    if not ask.before:
        raise UsageError("there is nothing to compare with: name another capture as before")
    return compare(_read(store, ask_before(ask)), _read(store, ask))


def _read(store: Store, ask: CaptureAsk) -> Compared:
    return Compared(tell_overview(store, ask), get_ops(store.open(ask), ask.rules))


def _routes(store: Store) -> Sequence[Route]:
    def answer(ask: CaptureAsk) -> Comparison:
        """What became of the parts of a step, of ops and of findings since another capture."""
        return tell_comparison(store, ask)

    return [Route("compare", CaptureAsk, answer, "GET")]


def _copies(store: Store, ask: CaptureAsk) -> Iterator[tuple[str, object]]:
    """With some others that have a trace as well; of all there would be too many."""
    rows = store.listing.list_captures().captures
    others = [row.id for row in rows if row.id != ask.capture and row.kind != "pprof"]
    for before in others[:_MOST_COPIED]:
        with suppress(TracklightError, OSError):
            told = tell_comparison(store, CaptureAsk(ask.capture, before=before))
            yield f"compare?capture={ask.capture}&before={before}", told


TOOL = Tool("compare", "Compare", _routes, explain_empty, _copies)
