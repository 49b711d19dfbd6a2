"""The Custom scalars dashboard: charts laid out by who logs them, or in the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from tracklight.dashboards.custom_scalars.merging import merge
from tracklight.dashboards.custom_scalars.reading import LayoutReader
from tracklight.plugin import Context, Dashboard, Nothing, Route
from tracklight.types import LayoutCategory


class LayoutAnswer(msgspec.Struct):
    """The layouts of all runs as one; ``problems`` says what is wrong with those left out."""

    categories: list[LayoutCategory]
    runs: list[str]
    """Those whose layouts these are."""
    problems: list[str]


class CustomScalars(Dashboard):
    """Tells of the layouts in the log: points come from Scalars, other layouts from the notes."""

    name = "custom_scalars"
    title = "Custom scalars"
    plugins = ("custom_scalars",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._reader = LayoutReader(context)

    def routes(self) -> Sequence[Route]:
        return [Route("layout", Nothing, self.layout, "GET", self.context.cursor)]

    def layout(self, _: Nothing) -> LayoutAnswer:
        """What the runs want to have shown, put together."""
        found, problems = self._reader.read_all()
        categories, left_out = merge(found.values())
        return LayoutAnswer(categories, [*found], problems + left_out)

    def export_static(self, runs: Sequence[str]) -> Iterator[tuple[str, object]]:
        answer = self.layout(Nothing())
        if answer.categories:
            yield "layout", answer
