"""What a copy of a board carries of values that are looked at one by one."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import Any

import msgspec
import numpy as np

from tracklight.errors import TracklightError
from tracklight.media.addresses import steps_path
from tracklight.media.reader import ValueAsk
from tracklight.media.steps import SeriesSteps, StepsAnswer, StepsAsk, list_steps
from tracklight.media.thinning import MOST_COPIED, Budget, thin
from tracklight.plugin_base import Blob, Context

Part = tuple[str, object]
#: The answers that a page would ask for to show one value, each under its `value_path`.
CopyValue = Callable[[ValueAsk], Iterable[Part]]


def iter_copies(
    context: Context, plugins: Container[str], runs: Sequence[str], copy_value: CopyValue
) -> Iterator[Part]:
    """Some values of every tag of these plugins, and tag by tag the steps that are carried.

    The values of a series are evenly chosen, its last one is always among them, and all series
    share one budget of bytes. A value that cannot be read is left out.
    """
    tags = [tag for tag in context.log.shared_tags(runs) if tag.plugin in plugins]
    chosen = frozenset(runs)
    series = sum(len(chosen.intersection(tag.runs)) for tag in tags)
    listed = ((tag.tag, list_steps(context, StepsAsk([tag.tag], list(runs)))) for tag in tags)
    return copy_listed(listed, series, copy_value)


def copy_listed(
    listed: Iterable[tuple[str, StepsAnswer]], series: int, copy_value: CopyValue
) -> Iterator[Part]:
    """The same of tags whose steps are listed here; ``series`` counts those of all of them."""
    budget = Budget(series)
    for tag, asked in listed:
        carried = []
        for steps in asked.series:
            parts, places = _copy_series(steps, copy_value, budget)
            yield from parts
            carried += [_take(steps, places)] if places else []
        if carried:
            yield steps_path(tag), StepsAnswer(asked.cursor, carried)


def _copy_series(
    steps: SeriesSteps, copy_value: CopyValue, budget: Budget
) -> tuple[list[Part], list[int]]:
    """The parts of the values that the budget allows, and their places in the series.

    How large the values are is guessed by the last one, which is copied first.
    """
    share = budget.next_share()
    last = len(steps.index) - 1
    parts: list[Part] = []
    places: list[int] = []

    def add(place: int) -> int:
        copied = _copy_value(steps, place, copy_value)
        size_bytes = sum(map(_measure, copied))
        if copied and budget.spend(size_bytes):
            parts.extend(copied)
            places.append(place)
        return size_bytes

    size_bytes = add(last)
    affordable = share // max(size_bytes, 1)
    for place in thin(last + 1, max(1, min(affordable, MOST_COPIED))).tolist():
        if place != last:
            add(place)
    return parts, sorted(places)


def _copy_value(steps: SeriesSteps, place: int, copy_value: CopyValue) -> list[Part]:
    ask = ValueAsk(steps.run, steps.tag, int(steps.index[place]), int(steps.mark[place]))
    try:
        return list(copy_value(ask))
    except TracklightError:
        return []


def _take(steps: SeriesSteps, places: list[int]) -> SeriesSteps:
    return SeriesSteps(
        steps.run,
        steps.tag,
        steps.index[places],
        steps.step[places],
        steps.wall_time[places],
        steps.mark[places],
    )


def _measure(part: Part) -> int:
    """About how many bytes an answer has."""
    _, answer = part
    if isinstance(answer, Blob):
        return len(answer.content)
    arrays_bytes = 0

    def weigh(value: Any) -> object:
        nonlocal arrays_bytes
        arrays_bytes += value.nbytes if isinstance(value, np.ndarray) else 8
        return None

    return len(msgspec.json.encode(answer, enc_hook=weigh)) + arrays_bytes
