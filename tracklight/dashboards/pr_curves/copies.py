"""The curves that a copy of a board takes along."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracklight.dashboards.pr_curves.answers import HistoryAnswer
from tracklight.dashboards.pr_curves.asks import HistoryAsk
from tracklight.dashboards.pr_curves.history import Historian
from tracklight.dashboards.pr_curves.reading import CurveReader
from tracklight.media.addresses import tag_path, value_path
from tracklight.media.copies import Part, iter_copies
from tracklight.media.reader import ValueAsk
from tracklight.plugin import Context


def iter_curve_copies(
    context: Context,
    plugins: Sequence[str],
    runs: Sequence[str],
    curves: CurveReader,
    historian: Historian,
) -> Iterator[Part]:
    """Some curves of every tag, and how all of them went."""

    def copy_value(ask: ValueAsk) -> Iterator[Part]:
        yield value_path("curve", ask), curves.read_one(ask)

    yield from iter_copies(context, plugins, runs, copy_value)
    for tag in context.log.shared_tags(runs):
        if tag.plugin in plugins:
            told = historian.tell(HistoryAsk([tag.tag], list(runs)))
            yield tag_path("history", tag.tag), HistoryAnswer(context.cursor(), told)
