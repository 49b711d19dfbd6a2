"""What a copy of a board, which has no server, knows of captures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracklight.dashboards.profile.asks import CaptureAsk
from tracklight.dashboards.profile.hosts import tell_hosts
from tracklight.dashboards.profile.store import Store
from tracklight.dashboards.profile.tool import tell_tools
from tracklight.dashboards.profile.tools import TOOLS
from tracklight.errors import TracklightError
from tracklight.plugin import Context


def iter_copies(
    context: Context, store: Store, runs: Sequence[str]
) -> Iterator[tuple[str, object]]:
    """The captures of some runs, each as every tool shows it at first."""
    listing = store.listing.list_captures()
    listing.captures = [row for row in listing.captures if row.run in frozenset(runs)]
    if not listing.captures:
        return
    yield "captures", listing
    for row in listing.captures:
        ask = CaptureAsk(row.id)
        try:
            opened = store.open(ask)
        except (TracklightError, OSError):
            continue  # the page says that the copy has nothing of it
        yield f"tools?capture={row.id}", tell_tools(TOOLS, opened)
        if len(row.hosts) > 1:
            yield f"hosts?capture={row.id}", tell_hosts(context, store, ask)
        for tool in TOOLS:
            if tool.explain(opened) is None:
                yield from tool.copies(store, ask)
