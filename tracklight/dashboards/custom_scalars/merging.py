"""Makes one layout of those that several runs have logged."""

from __future__ import annotations

from collections.abc import Iterable

from tracklight.types import LayoutCategory, LayoutChart

#: More would be no layout that somebody made to look at.
_MOST_CHARTS = 1000


def merge(
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
    return _bound(categories)


def _bound(categories: list[LayoutCategory]) -> tuple[list[LayoutCategory], list[str]]:
    kept: list[LayoutCategory] = []
    room = _MOST_CHARTS
    for category in categories:
        own = category.charts[:room]
        room -= len(own)
        if own:
            kept.append(LayoutCategory(category.title, category.closed, own))
    missing = sum(len(it.charts) for it in categories) - (_MOST_CHARTS - room)
    said = f"{missing:,} more charts are laid out than the {_MOST_CHARTS:,} that are shown."
    return kept, [said] if missing else []
