"""Choose the values that a static export contains, and give their URLs.

The exported page looks responses up by URL, so `value_path` must produce exactly the same text as
``valuePath`` in ``web/src/api/client.ts``.
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

#: Limit on the exported values of one series.
MAX_EXPORTED_VALUES = 30
#: Limit on the exported values of one dashboard, before compression.
MAX_EXPORTED_BYTES = 12 << 20

#: A path below ``api/v1/<dashboard>/`` and the response to a GET of it.
ExportPart = tuple[str, object]
#: Returns the responses that the page needs to show one value, each with its `value_path`.
ExportValue = Callable[[ValueRequest], Iterable[ExportPart]]

#: Characters that JavaScript's ``encodeURIComponent`` leaves as they are, besides letters and
#: digits.
_UNESCAPED_CHARACTERS = "!'()*-._~"


def value_path(verb: str, request: ValueRequest, **extra: str | int) -> str:
    """Return the URL of a GET request for one value; ``extra`` fields are appended in order.

    Example:
        >>> value_path("image", ValueRequest("train", "samples", 3), width=64)
        'image?run=train&tag=samples&index=3&width=64'
    """
    fields: dict[str, str | int | None] = {
        "run": request.run,
        "tag": request.tag,
        "index": request.index,
        "fingerprint": request.fingerprint,
        **extra,
    }
    pairs = (
        f"{name}={encode_uri_component(str(value))}"
        for name, value in fields.items()
        if value is not None
    )
    return f"{verb}?{'&'.join(pairs)}"


def steps_path(tag: str) -> str:
    """Return the path under which an export has the exported steps of a tag."""
    return tag_path("steps", tag)


def tag_path(verb: str, tag: str) -> str:
    """Return the path under which an export has a response for all runs of a tag."""
    return f"{verb}/{encode_uri_component(tag)}"


def encode_uri_component(text: str) -> str:
    """Encode a text for a URL like JavaScript's ``encodeURIComponent``."""
    # A page cannot request text that is not valid Unicode either.
    return quote(text, safe=_UNESCAPED_CHARACTERS, errors="replace")


def thin_evenly(count: int, max_count: int = MAX_EXPORTED_VALUES) -> Int64:
    """Return at most ``max_count`` of ``count`` indexes, evenly spaced.

    The first and the last are included; a single one is the last.
    """
    if count <= max_count:
        return np.arange(count)
    if max_count < 2:
        return np.arange(count - max_count, count)
    return np.rint(np.linspace(0, count - 1, max_count)).astype(np.int64)


class ByteBudget:
    """A number of bytes to divide among several series.

    Each series gets an equal share of what is left, so that later series can use what earlier
    ones leave.
    """

    def __init__(self, series: int, limit_bytes: int = MAX_EXPORTED_BYTES) -> None:
        self._series_left = series
        self.left_bytes = limit_bytes

    def next_share(self) -> int:
        """Return the number of bytes that the next series may use."""
        share = self.left_bytes // max(self._series_left, 1)
        self._series_left -= 1
        return share

    def spend(self, size_bytes: int) -> bool:
        """Subtract bytes; return False, without subtracting, if not enough are left."""
        if size_bytes > self.left_bytes:
            return False
        self.left_bytes -= size_bytes
        return True


def export_values(
    context: Context, plugins: Container[str], runs: Sequence[str], export_value: ExportValue
) -> Iterator[ExportPart]:
    """Yield values of all tags of some plugins, and for each tag the exported steps.

    The values of a series are chosen evenly and include the last one. All series share a limit
    on bytes. Values that cannot be read are skipped.

    Args:
        context: The context of the dashboard.
        plugins: The plugin names of the tags to export.
        runs: The runs to export.
        export_value: Returns the responses for one value.
    """
    tags = [tag for tag in context.log.shared_tags(runs) if tag.plugin in plugins]
    selected = frozenset(runs)
    series = sum(len(selected.intersection(tag.runs)) for tag in tags)
    listed = ((tag.tag, list_steps(context, StepsRequest([tag.tag], list(runs)))) for tag in tags)
    return export_listed_values(listed, series, export_value)


def export_listed_values(
    listed: Iterable[tuple[str, StepsResponse]], series: int, export_value: ExportValue
) -> Iterator[ExportPart]:
    """Yield values of tags with known steps, like `export_values`.

    Args:
        listed: Tags and their steps.
        series: The number of series of all tags.
        export_value: Returns the responses for one value.
    """
    budget = ByteBudget(series)
    for tag, response in listed:
        exported = []
        for steps in response.series:
            parts, rows = _export_series(steps, export_value, budget)
            yield from parts
            exported += [_select_steps(steps, rows)] if rows else []
        if exported:
            yield steps_path(tag), StepsResponse(response.cursor, exported)


def _export_series(
    steps: SeriesSteps, export_value: ExportValue, budget: ByteBudget
) -> tuple[list[ExportPart], list[int]]:
    """Return the responses for the values that fit into the budget, and their rows.

    The last value is exported first; its size is the estimate for the others.
    """
    share = budget.next_share()
    last = len(steps.index) - 1
    parts: list[ExportPart] = []
    rows: list[int] = []

    def add(row: int) -> int:
        responses = _export_value(steps, row, export_value)
        size_bytes = sum(map(_estimate_bytes, responses))
        if responses and budget.spend(size_bytes):
            parts.extend(responses)
            rows.append(row)
        return size_bytes

    size_bytes = add(last)
    affordable = share // max(size_bytes, 1)
    for row in thin_evenly(last + 1, max(1, min(affordable, MAX_EXPORTED_VALUES))).tolist():
        if row != last:
            add(row)
    return parts, sorted(rows)


def _export_value(steps: SeriesSteps, row: int, export_value: ExportValue) -> list[ExportPart]:
    request = ValueRequest(steps.run, steps.tag, int(steps.index[row]), int(steps.fingerprint[row]))
    try:
        return list(export_value(request))
    except TracklightError:
        return []


def _select_steps(steps: SeriesSteps, rows: list[int]) -> SeriesSteps:
    return SeriesSteps(
        steps.run,
        steps.tag,
        steps.index[rows],
        steps.step[rows],
        steps.wall_time[rows],
        steps.fingerprint[rows],
    )


def _estimate_bytes(part: ExportPart) -> int:
    """Return the approximate size of a response."""
    _, response = part
    if isinstance(response, Blob):
        return len(response.content)
    arrays_bytes = 0

    def count_array(value: Any) -> object:
        nonlocal arrays_bytes
        arrays_bytes += value.nbytes if isinstance(value, np.ndarray) else 8
        return None

    return len(msgspec.json.encode(response, enc_hook=count_array)) + arrays_bytes
