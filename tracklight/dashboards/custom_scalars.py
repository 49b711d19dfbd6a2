"""The Custom scalars dashboard: charts in the layout that runs logged.

The layouts of all runs are merged. The points come from the Scalars dashboard; layouts made in the
page are stored with the notes. Uses `tracklight.plugin` and `tracklight.analysis.media`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec
import numpy as np

from tracklight.analysis.media import ValueReader, ValueRequest
from tracklight.analysis.source import Sentence
from tracklight.errors import FormatError, Message, TracklightError
from tracklight.formats.summary import LAYOUT_TAG, parse_layout
from tracklight.formats.values import Tensor
from tracklight.plugin import Context, Dashboard, Empty, Route
from tracklight.types import LayoutCategory, LayoutChart

#: Limit on the charts of the merged layout.
_MAX_CHARTS = 1000
_MAX_LAYOUT_BYTES = 1 << 20
_CACHE_BYTES = 4 << 20


class LayoutResponse(msgspec.Struct):
    """The merged layout of all runs."""

    categories: list[LayoutCategory]
    runs: list[str]
    """The runs whose layouts were merged."""
    problems: list[Sentence]
    """Messages about layouts that could not be read and charts that were left out."""


class CustomScalars(Dashboard):
    """Charts in the layout that runs logged."""

    name = "custom_scalars"
    title = "Custom scalars"
    plugins = ("custom_scalars",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._reader = LayoutReader(context)

    def routes(self) -> Sequence[Route]:
        return [Route("layout", Empty, self.layout, "GET", self.context.cursor)]

    def layout(self, _: Empty) -> LayoutResponse:
        """Return the merged layout of all runs."""
        layouts, problems = self._reader.read_all()
        categories, merge_problems = merge_layouts(layouts.values())
        messages = [Sentence.make(problem) for problem in problems + merge_problems]
        return LayoutResponse(categories, [*layouts], messages)

    def export_static(self, runs: Sequence[str]) -> Iterator[tuple[str, object]]:
        response = self.layout(Empty())
        if response.categories:
            yield "layout", response


class LayoutReader:
    """Read the last layout of each run, with a cache."""

    def __init__(self, context: Context) -> None:
        self._log = context.log
        self._reader = ValueReader(context, _CACHE_BYTES)

    def read_all(self) -> tuple[dict[str, tuple[LayoutCategory, ...]], list[Message]]:
        """Return the layouts by run, and messages about those that cannot be read."""
        available = self._log.plugin_data(LAYOUT_TAG)
        layouts, problems = {}, []
        for run in (info.name for info in self._log.runs() if info.name in available):
            try:
                layouts[run] = self._read_last(run)
            except TracklightError as error:
                problems.append(
                    Message.format(
                        "custom_scalars.unreadable_layout",
                        'The layout of run "{run}" cannot be read: {error}.',
                        run=run,
                        error=error,
                    )
                )
        return layouts, problems

    def _read_last(self, run: str) -> tuple[LayoutCategory, ...]:
        locations = self._log.locate(run, LAYOUT_TAG)
        current = np.flatnonzero(~locations.overwritten)
        if not len(current):
            return ()
        last = int(current[-1])
        if locations.size[last] > _MAX_LAYOUT_BYTES:
            raise FormatError(
                "custom_scalars.too_large",
                "it is larger than {limit_mib} MiB",
                limit_mib=_MAX_LAYOUT_BYTES >> 20,
            )
        value = self._reader.read(ValueRequest(run, LAYOUT_TAG, last))
        data = value.array.item() if isinstance(value, Tensor) and value.array.size == 1 else None
        if not isinstance(data, bytes):
            raise FormatError("custom_scalars.not_a_layout", "the value is not a layout")
        return parse_layout(data)


def merge_layouts(
    layouts: Iterable[tuple[LayoutCategory, ...]],
) -> tuple[list[LayoutCategory], list[Message]]:
    """Merge categories of the same title; repeated charts are included once.

    Returns:
        The categories, limited to a number of charts, and messages about what was left out.
    """
    charts: dict[str, dict[LayoutChart, None]] = {}
    closed: dict[str, bool] = {}
    for category in (category for layout in layouts for category in layout):
        closed.setdefault(category.title, category.closed)
        charts.setdefault(category.title, {}).update(dict.fromkeys(category.charts))
    categories = [
        LayoutCategory(title, closed[title], tuple(merged)) for title, merged in charts.items()
    ]
    return _limit_charts(categories)


def _limit_charts(categories: list[LayoutCategory]) -> tuple[list[LayoutCategory], list[Message]]:
    limited: list[LayoutCategory] = []
    left = _MAX_CHARTS
    for category in categories:
        charts = category.charts[:left]
        left -= len(charts)
        if charts:
            limited.append(LayoutCategory(category.title, category.closed, charts))
    omitted = sum(len(category.charts) for category in categories) - (_MAX_CHARTS - left)
    if not omitted:
        return limited, []
    message = Message.format(
        "custom_scalars.too_many_charts",
        "{omitted:,} charts are not shown: a layout is limited to {limit:,} charts.",
        omitted=omitted,
        limit=_MAX_CHARTS,
    )
    return limited, [message]
