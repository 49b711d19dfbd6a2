"""The addresses of values, letter by letter as the page writes them.

A copy of a board looks its answers up by these, so `valuePath` in ``web/src/api/values.ts`` and
the functions here must agree.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import Any
from urllib.parse import quote

import msgspec
import numpy as np

from tracklight.analysis.media.values import (
    SeriesSteps,
    StepsRequest,
    StepsResponse,
    ValueRequest,
    list_steps,
)
from tracklight.analysis.source import Blob, Context
from tracklight.errors import TracklightError
from tracklight.types import Int64

#: What JavaScript's ``encodeURIComponent`` leaves as it is, beside letters and digits.
_UNESCAPED_CHARACTERS = "!'()*-._~"


def value_path(verb: str, ask: ValueRequest, **extra: str | int) -> str:
    """Where one value is asked for; ``extra`` stands in the order in which it is given."""
    fields: dict[str, str | int | None] = {
        "run": ask.run,
        "tag": ask.tag,
        "index": ask.index,
        "mark": ask.mark,
        **extra,
    }
    pairs = (
        f"{name}={encode_uri_component(str(value))}"
        for name, value in fields.items()
        if value is not None
    )
    return f"{verb}?{'&'.join(pairs)}"


def steps_path(tag: str) -> str:
    """Where a copy says which steps of a tag it carries."""
    return tag_path("steps", tag)


def tag_path(verb: str, tag: str) -> str:
    """Where a copy answers for all runs of a tag together."""
    return f"{verb}/{encode_uri_component(tag)}"


def encode_uri_component(text: str) -> str:
    """Encode a text for a URL exactly as JavaScript's function of that name does."""
    # Text that is not valid Unicode cannot be requested by a page either.
    return quote(text, safe=_UNESCAPED_CHARACTERS, errors="replace")


# Which values a copy of a board carries where there are too many.

#: So many values of a series go into a copy.
MAX_EXPORTED_VALUES = 30

#: So many bytes of one dashboard's values do, before they are packed.
MAX_EXPORTED_BYTES = 12 << 20


def thin_evenly(count: int, most: int = MAX_EXPORTED_VALUES) -> Int64:
    """Positions of at most ``most`` of ``count`` values, evenly spread: the first and the last are
    among them, and of one alone it is the last."""
    if count <= most:
        return np.arange(count)
    if most < 2:
        return np.arange(count - most, count)
    return np.rint(np.linspace(0, count - 1, most)).astype(np.int64)


class ByteBudget:
    """Bytes for some series, of which each may use as much as is left for it if all are to get
    the same; what one leaves over is for those that come after it."""

    def __init__(self, series: int, limit_bytes: int = MAX_EXPORTED_BYTES) -> None:
        self._series_left = series
        self.left_bytes = limit_bytes

    def next_share(self) -> int:
        """How many bytes the next series may use."""
        share = self.left_bytes // max(self._series_left, 1)
        self._series_left -= 1
        return share

    def spend(self, size_bytes: int) -> bool:
        """Take bytes away if there are so many left."""
        if size_bytes > self.left_bytes:
            return False
        self.left_bytes -= size_bytes
        return True


# What a copy of a board carries of values that are looked at one by one.

ExportPart = tuple[str, object]

#: The answers that a page would ask for to show one value, each under its `value_path`.
ExportValue = Callable[[ValueRequest], Iterable[ExportPart]]


def export_values(
    context: Context, plugins: Container[str], runs: Sequence[str], copy_value: ExportValue
) -> Iterator[ExportPart]:
    """Some values of every tag of these plugins, and tag by tag the steps that are carried.

    The values of a series are evenly chosen, its last one is always among them, and all series
    share one budget of bytes. A value that cannot be read is left out.
    """
    tags = [tag for tag in context.log.shared_tags(runs) if tag.plugin in plugins]
    chosen = frozenset(runs)
    series = sum(len(chosen.intersection(tag.runs)) for tag in tags)
    listed = ((tag.tag, list_steps(context, StepsRequest([tag.tag], list(runs)))) for tag in tags)
    return export_listed_values(listed, series, copy_value)


def export_listed_values(
    listed: Iterable[tuple[str, StepsResponse]], series: int, copy_value: ExportValue
) -> Iterator[ExportPart]:
    """The same of tags whose steps are listed here; ``series`` counts those of all of them."""
    budget = ByteBudget(series)
    for tag, asked in listed:
        carried = []
        for steps in asked.series:
            parts, places = _export_series(steps, copy_value, budget)
            yield from parts
            carried += [_select_steps(steps, places)] if places else []
        if carried:
            yield steps_path(tag), StepsResponse(asked.cursor, carried)


def _export_series(
    steps: SeriesSteps, copy_value: ExportValue, budget: ByteBudget
) -> tuple[list[ExportPart], list[int]]:
    """The parts of the values that the budget allows, and their places in the series.

    How large the values are is guessed by the last one, which is copied first.
    """
    share = budget.next_share()
    last = len(steps.index) - 1
    parts: list[ExportPart] = []
    places: list[int] = []

    def add(place: int) -> int:
        copied = _export_value(steps, place, copy_value)
        size_bytes = sum(map(_estimate_bytes, copied))
        if copied and budget.spend(size_bytes):
            parts.extend(copied)
            places.append(place)
        return size_bytes

    size_bytes = add(last)
    affordable = share // max(size_bytes, 1)
    for place in thin_evenly(last + 1, max(1, min(affordable, MAX_EXPORTED_VALUES))).tolist():
        if place != last:
            add(place)
    return parts, sorted(places)


def _export_value(steps: SeriesSteps, place: int, copy_value: ExportValue) -> list[ExportPart]:
    ask = ValueRequest(steps.run, steps.tag, int(steps.index[place]), int(steps.mark[place]))
    try:
        return list(copy_value(ask))
    except TracklightError:
        return []


def _select_steps(steps: SeriesSteps, places: list[int]) -> SeriesSteps:
    return SeriesSteps(
        steps.run,
        steps.tag,
        steps.index[places],
        steps.step[places],
        steps.wall_time[places],
        steps.mark[places],
    )


def _estimate_bytes(part: ExportPart) -> int:
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
