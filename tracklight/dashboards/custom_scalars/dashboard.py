"""Makes one layout of those that several runs have logged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec
import numpy as np

from tracklight.analysis.media.values import ValueReader, ValueRequest
from tracklight.errors import FormatError, TracklightError
from tracklight.formats.summary import LAYOUT_TAG, parse_layout
from tracklight.formats.values import Tensor
from tracklight.plugin import Context, Dashboard, Empty, Route
from tracklight.types import LayoutCategory, LayoutChart

#: More would be no layout that somebody made to look at.
_MAX_CHARTS = 1000


def merge_layouts(
    layouts: Iterable[tuple[LayoutCategory, ...]],
) -> tuple[list[LayoutCategory], list[str]]:
    """Charts of categories of the same title come together, each chart once.

    Also what has to be said of it, in sentences.
    """
    charts: dict[str, dict[LayoutChart, None]] = {}
    closed: dict[str, bool] = {}
    for category in (category for layout in layouts for category in layout):
        closed.setdefault(category.title, category.closed)
        charts.setdefault(category.title, {}).update(dict.fromkeys(category.charts))
    categories = [LayoutCategory(it, closed[it], tuple(own)) for it, own in charts.items()]
    return _limit_charts(categories)


def _limit_charts(categories: list[LayoutCategory]) -> tuple[list[LayoutCategory], list[str]]:
    kept: list[LayoutCategory] = []
    room = _MAX_CHARTS
    for category in categories:
        own = category.charts[:room]
        room -= len(own)
        if own:
            kept.append(LayoutCategory(category.title, category.closed, own))
    missing = sum(len(it.charts) for it in categories) - (_MAX_CHARTS - room)
    said = f"{missing:,} more charts are laid out than the {_MAX_CHARTS:,} that are shown."
    return kept, [said] if missing else []


# Finds the layouts that runs have logged.

_CACHE_BYTES = 4 << 20

#: A layout is a page of text, not a library.
_MAX_LAYOUT_BYTES = 1 << 20


class LayoutReader:
    """The layout that each run logged last."""

    def __init__(self, context: Context) -> None:
        self._log = context.log
        self._reader = ValueReader(context, _CACHE_BYTES)

    def read_all(self) -> tuple[dict[str, tuple[LayoutCategory, ...]], list[str]]:
        """By run, in the order of the runs, and what is wrong with the others, in sentences."""
        having = self._log.plugin_data(LAYOUT_TAG)
        found, problems = {}, []
        for run in (info.name for info in self._log.runs() if info.name in having):
            try:
                found[run] = self._read_last(run)
            except TracklightError as error:
                problems.append(f'The layout of "{run}" cannot be shown: {error}.')
        return found, problems

    def _read_last(self, run: str) -> tuple[LayoutCategory, ...]:
        located = self._log.locate(run, LAYOUT_TAG)
        places = np.flatnonzero(~located.overwritten)
        if not len(places):
            return ()
        if located.size[places[-1]] > _MAX_LAYOUT_BYTES:
            raise FormatError("it is far too large for a layout")
        value = self._reader.read(ValueRequest(run, LAYOUT_TAG, int(places[-1])))
        data = value.array.item() if isinstance(value, Tensor) and value.array.size == 1 else None
        if not isinstance(data, bytes):
            raise FormatError("it holds no layout")
        return parse_layout(data)


class LayoutResponse(msgspec.Struct):
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
        return [Route("layout", Empty, self.layout, "GET", self.context.cursor)]

    def layout(self, _: Empty) -> LayoutResponse:
        """What the runs want to have shown, put together."""
        found, problems = self._reader.read_all()
        categories, left_out = merge_layouts(found.values())
        return LayoutResponse(categories, [*found], problems + left_out)

    def export_static(self, runs: Sequence[str]) -> Iterator[tuple[str, object]]:
        answer = self.layout(Empty())
        if answer.categories:
            yield "layout", answer
