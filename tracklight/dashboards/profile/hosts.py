"""The hosts of one capture beside one another, as the slowest makes all others wait."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tracklight.dashboards.profile.asks import CaptureAsk
from tracklight.dashboards.profile.overview import tell_overview
from tracklight.dashboards.profile.store import Store
from tracklight.errors import TracklightError
from tracklight.plugin import Context, Problem


class HostStepRow(msgspec.Struct):
    """How an average step of one host went; null where its file cannot be read, and why."""

    name: str
    step_ms: float | None
    parts_ms: dict[str, float]
    problem: Problem | None


class HostsAnswer(msgspec.Struct):
    """All hosts of a capture, by name."""

    hosts: list[HostStepRow]


def tell_hosts(context: Context, store: Store, ask: CaptureAsk) -> HostsAnswer:
    return HostsAnswer(list(_iter_hosts(context, store, ask)))


def _iter_hosts(context: Context, store: Store, ask: CaptureAsk) -> Iterator[HostStepRow]:
    for file in store.listing.get_files(ask.capture):
        one = CaptureAsk(ask.capture, file.host, ask.marker, ask.rules)
        try:
            told = tell_overview(store, one)
        except (TracklightError, OSError) as error:
            yield HostStepRow(file.host, None, {}, context.explain(error))
            continue
        parts = {part.name: part.ms for part in told.parts}
        yield HostStepRow(file.host, told.steps.mean_ms, parts, None)
