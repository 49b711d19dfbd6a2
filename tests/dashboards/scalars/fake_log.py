"""Call the routes of the Scalars dashboard with series in memory, without a server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from tracklight.analysis.source import Context, Problem, ResultT
from tracklight.dashboards.scalars import Scalars
from tracklight.errors import TagNotFoundError
from tracklight.index.series_query import SeriesQuery, View, apply
from tracklight.types import Series


class Log:
    """A `Source` with some series."""

    def __init__(self, *series: Series) -> None:
        self.series = {(one.run, one.tag): one for one in series}

    def runs_with(self, tag: str) -> list[str]:
        return [run for run, own in self.series if own == tag]

    def tags(self) -> list[str]:
        return list(dict.fromkeys(tag for _, tag in self.series))

    def scalar(self, run: str, tag: str) -> Series:
        try:
            return self.series[run, tag]
        except KeyError:
            raise TagNotFoundError(run, tag) from None

    def query(
        self, keys: Sequence[tuple[str, str]], query: SeriesQuery, view: View[ResultT]
    ) -> list[ResultT]:
        return [apply(self.scalar(*key), query, view, self._metric(key[0], query)) for key in keys]

    def _metric(self, run: str, lens: SeriesQuery) -> Series | None:
        if lens.metric is None:
            return None
        found = self.series.get((run, lens.metric))
        return found or Series(run, lens.metric, *(one[:0] for one in _columns(self.series)))


def _columns(series: dict[Any, Series]) -> tuple[Any, ...]:
    one = next(iter(series.values()))
    return one.step, one.wall_time, one.value, one.overwritten


def ask(route: str, log: Log, /, **fields: object) -> Any:
    """Return the response of a route, a struct with arrays."""
    context = Context(
        log,  # type: ignore[arg-type]
        log.tags,
        log.runs_with,
        lambda: "cursor",
        lambda error: Problem(str(error), "next"),
    )
    found = {(one.path, one.method): one for one in Scalars(context).routes()}[route, "POST"]
    return found.handler(msgspec.convert(fields, found.request_type))


def query(log: Log, *tags: str, **fields: object) -> Any:
    """Return one chart of some tags."""
    place = {name: fields.pop(name) for name in ("start", "stop") if name in fields}
    answer = ask("query", log, charts=[{"id": "one", "tags": list(tags), **place}], **fields)
    return answer.charts[0]
