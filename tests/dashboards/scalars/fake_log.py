"""Call the routes of the Scalars dashboard with series in memory, without a server."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import msgspec

from tracklight.analysis.source import Context, Problem, ResultT, reduce_here
from tracklight.dashboards.scalars import Scalars
from tracklight.errors import TagNotFoundError
from tracklight.index.aggregation import CurveReduction
from tracklight.index.series_query import SeriesQuery, View, apply
from tracklight.types import Series


class Log:
    """A `Source` with some series."""

    def __init__(self, *series: Series) -> None:
        self.series = {(item.run, item.tag): item for item in series}

    def runs_with(self, tag: str) -> list[str]:
        return [run for run, other in self.series if other == tag]

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

    def reduce(
        self,
        keys: Sequence[tuple[str, str]],
        query: SeriesQuery,
        reduction: CurveReduction[ResultT],
    ) -> ResultT:
        return reduce_here(self, keys, query, reduction)  # type: ignore[arg-type]

    def _metric(self, run: str, query: SeriesQuery) -> Series | None:
        if query.metric is None:
            return None
        metric = self.series.get((run, query.metric))
        if metric is not None:
            return metric
        empty = next(iter(self.series.values()))[:0]
        return dataclasses.replace(empty, run=run, tag=query.metric)


def ask(route: str, log: Log, /, **fields: object) -> Any:
    """Return the response of a route, a struct with arrays."""
    context = Context(
        log,  # type: ignore[arg-type]
        log.tags,
        log.runs_with,
        lambda: "cursor",
        lambda error: Problem(str(error), "next"),
    )
    routes = {(item.path, item.method): item for item in Scalars(context).routes()}
    found = routes[route, "POST"]
    return found.handler(msgspec.convert(fields, found.request_type))


def query(log: Log, *tags: str, **fields: object) -> Any:
    """Return one chart of some tags."""
    chart_fields = {name: fields.pop(name) for name in ("start", "stop") if name in fields}
    chart = {"id": "one", "tags": list(tags), **chart_fields}
    return ask("query", log, charts=[chart], **fields).charts[0]
