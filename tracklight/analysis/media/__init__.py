"""Values that are shown one at a time (images, audio, text, histograms, curves, meshes). No HTTP.

This module lists the steps at which values were logged, and reads single values. A value is
identified by run, tag and index. Its fingerprint distinguishes it from other values that may later
be at the same index, so that responses for it can be cached forever.

A static export contains some of the values. The exported page looks responses up by URL, so
`value_path` must produce exactly the same text as ``valuePath`` in
``web/src/cards/steps/step-selection.svelte.ts``.

`render_markdown` turns logged Markdown into safe HTML.

- `markdown_html`: the two steps of that, generation and sanitizing.
- `time_limits`: deadlines and regular expressions in a subprocess, for untrusted input.

May import `tracklight.analysis.source`, `tracklight.formats`, `tracklight.types`,
`tracklight.errors` and `tracklight.util`.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.media.time_limits import Deadline, DeadlineExceededError
from tracklight.analysis.source import Blob, Context
from tracklight.errors import LogError, Message, TracklightError
from tracklight.types import Float64, Int32, Int64, ValueLocations
from tracklight.util.memory import LruCache

if TYPE_CHECKING:
    from tracklight.formats.values import DecodedValue

_CACHE_BYTES = 64 << 20
#: Values larger than the cache are requested several times in a row and then no more, so they are
#: kept for a short time in a cache of their own.
_LARGE_CACHE_BYTES = 256 << 20
_LARGE_CACHE_IDLE_S = 20.0

#: Odd constants for multiplicative hashing.
_MIX_A = np.uint64(0x9E3779B97F4A7C15)
_MIX_B = np.uint64(0xBF58476D1CE4E5B9)

#: Run, tag, index and fingerprint.
_Key = tuple[str, str, int, int]


class StepsRequest(msgspec.Struct):
    """The steps of some tags; without ``runs``, of all runs that have them."""

    tags: list[str]
    runs: list[str] | None = None
    overwritten: bool = False
    """Include values that were overwritten after a restart."""


class SeriesSteps(msgspec.Struct):
    """The values of one tag of one run, in the order written."""

    run: str
    tag: str
    index: Int32
    """Identifies the value in requests."""
    step: Int64
    wall_time: Float64
    fingerprint: Int32
    """The fingerprint of the value."""


class StepsResponse(msgspec.Struct):
    """The steps of all requested series; ``cursor`` is the position in the stream of changes."""

    cursor: str
    series: list[SeriesSteps]


class ValueRequest(msgspec.Struct):
    """One value of a tag of a run, as listed in `SeriesSteps`."""

    run: str
    tag: str
    index: Annotated[int, msgspec.Meta(ge=0)]
    fingerprint: int | None = None
    """The fingerprint; with it the response never changes."""


def has_fingerprint(request: ValueRequest) -> bool:
    """Return whether the response never changes; for `Route.immutable`.

    Args:
        request: The request for a value.

    Example:
        >>> has_fingerprint(ValueRequest("train", "samples", 3, fingerprint=12))
        True
    """
    return request.fingerprint is not None


def list_steps(context: Context, request: StepsRequest) -> StepsResponse:
    """Return the steps at which some tags were logged, by tag and run.

    Args:
        context: The context of the dashboard.
        request: The tags, and the runs or None for all.

    Example:
        >>> response = list_steps(context, StepsRequest(["samples"], ["train"]))
        >>> response.series[0].step
    """
    cursor = context.cursor()
    series = [steps for tag in request.tags for steps in _iter_steps(context, tag, request)]
    return StepsResponse(cursor, series)


def _iter_steps(context: Context, tag: str, request: StepsRequest) -> Iterator[SeriesSteps]:
    available = context.log.plugin_data(tag)
    runs = available if request.runs is None else request.runs
    for run in (run for run in runs if run in available):
        locations = context.log.locate(run, tag)
        index = np.arange(len(locations), dtype=np.int32)
        if not request.overwritten:
            index = index[~locations.overwritten]
        if len(index):
            yield SeriesSteps(
                run,
                tag,
                index,
                locations.step[index],
                locations.wall_time[index],
                compute_fingerprints(locations)[index],
            )


def compute_fingerprints(locations: ValueLocations, rows: slice = slice(None)) -> Int32:
    """Return a fingerprint for each value, or for some rows.

    It is a hash of file, position, step and wall time, so that the value need not be read.

    Args:
        locations: The locations of the values, from ``context.log.locate``.
        rows: The rows of the locations.

    Returns:
        One number per row.

    Example:
        >>> locations = log.catalog.locate("resnet/train", "weights")
        >>> len(compute_fingerprints(locations))
        3
    """
    file = locations.file[rows]
    mixed = _hash_paths(locations.paths)[file]
    for column in (locations.record, locations.start, locations.size, locations.step):
        mixed = _mix(mixed ^ column[rows].view(np.uint64))
    mixed = _mix(mixed ^ locations.wall_time[rows].view(np.uint64))
    fingerprints: Int32 = (mixed >> np.uint64(33)).astype(np.int32)
    return fingerprints


@lru_cache(maxsize=64)
def _hash_paths(paths: tuple[str, ...]) -> NDArray[np.uint64]:
    hashes = [zlib.crc32(path.encode("utf-8", "surrogateescape")) for path in paths]
    return np.array(hashes, np.uint64)


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    values = (values ^ (values >> np.uint64(31))) * _MIX_A
    mixed: NDArray[np.uint64] = (values ^ (values >> np.uint64(29))) * _MIX_B
    return mixed


class ValueReader:
    """Read and decode values, with a cache. Thread-safe.

    Args:
        context: The context of the dashboard.
        cache_bytes: Size limit of the cache, measured in bytes of the log.

    Example:
        >>> reader = ValueReader(context)
        >>> value = reader.read(ValueRequest("train", "input", index=0))
    """

    def __init__(self, context: Context, cache_bytes: int = _CACHE_BYTES) -> None:
        self._log = context.log
        self._cache_bytes = cache_bytes
        self._cache: LruCache[_Key, DecodedValue] = LruCache(max_bytes=cache_bytes)
        self._large_cache: LruCache[_Key, DecodedValue] = LruCache(
            max_bytes=_LARGE_CACHE_BYTES, idle_s=_LARGE_CACHE_IDLE_S
        )

    def read(self, request: ValueRequest) -> DecodedValue:
        """Return one value, decoded according to the kind of its tag.

        Raises:
            LogError: The log does not have the value any more.
            FormatError: The value cannot be decoded.
        """
        locations = self._log.locate(request.run, request.tag)
        fingerprint = _find_fingerprint(locations, request.index)
        if fingerprint is None or request.fingerprint not in (None, fingerprint):
            raise LogError(
                "log.value_gone",
                'the log no longer has this value of "{tag}"; reload the page',
                tag=request.tag,
            )
        key = (request.run, request.tag, request.index, fingerprint)
        value = self._cache.find(key) or self._large_cache.find(key)
        if value is None:
            # Imports protobuf, which a log with scalars only does not need.
            from tracklight.formats.values import decode_value

            data = self._log.read(locations, request.index)
            value = decode_value(data, locations.kind)
            cache = self._cache if len(data) <= self._cache_bytes else self._large_cache
            cache.put(key, value, len(data))
        return value


def _find_fingerprint(locations: ValueLocations, index: int) -> int | None:
    if index >= len(locations):
        return None
    return int(compute_fingerprints(locations, slice(index, index + 1))[0])


# ---- static export

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
    """Return the URL of a GET request for one value.

    Args:
        verb: The name of the route.
        request: The value.
        **extra: Further fields of the request, appended in this order.

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
    """Return the path under which an export has the exported steps of a tag.

    Args:
        tag: The tag.

    Example:
        >>> steps_path("layer 1")
        'steps/layer%201'
    """
    return tag_path("steps", tag)


def tag_path(verb: str, tag: str) -> str:
    """Return the path under which an export has a response for all runs of a tag.

    Args:
        verb: The name of the route.
        tag: The tag.

    Example:
        >>> tag_path("summary", "layer 1")
        'summary/layer%201'
    """
    return f"{verb}/{encode_uri_component(tag)}"


def encode_uri_component(text: str) -> str:
    """Encode a text for a URL like JavaScript's ``encodeURIComponent``.

    Args:
        text: The text. Characters that are not valid Unicode are replaced.

    Returns:
        The encoded text.

    Example:
        >>> encode_uri_component("layer 1/weights")
        'layer%201%2Fweights'
    """
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

    Returns:
        An iterator over paths and responses, as `Dashboard.export_static` returns it.

    Example:
        >>> def export_value(request):
        ...     yield value_path("image", request), Blob(b"...", "image/png")
        >>> parts = export_values(context, ("images",), ["train"], export_value)
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


# ---- Markdown
#
# Logs are untrusted. Two independent steps protect the page, both based on allowlists:
# `markdown_html.render_html` generates HTML from Markdown and rebuilds the few HTML tags that a
# text may contain, and `markdown_html.sanitize` parses the result and keeps only what the page can
# show. What is not allowed is shown as text, not dropped.

#: Longer texts are shown as plain text.
MAX_CHARACTERS = 200_000
_MAX_RENDER_S = 1.0


@dataclass(frozen=True)
class RenderedMarkdown:
    """The HTML of a text; without it, ``note`` says why the plain text is shown."""

    html: str | None
    note: Message | None = None


def start_deadline() -> Deadline:
    """Start the time limit for one text, or for all cells of one table.

    Returns:
        A deadline that several calls of `render_markdown` may share.

    Example:
        >>> deadline = start_markdown_deadline()
        >>> cells = [render_markdown(text, deadline) for text in ("one", "*two*")]
    """
    return Deadline(_MAX_RENDER_S, time.thread_time)


def render_markdown(text: str, deadline: Deadline | None = None) -> RenderedMarkdown:
    """Render a text within limits on size and time. Never raises.

    Args:
        text: Untrusted Markdown.
        deadline: A limit shared with other texts; by default a new one is started.

    Returns:
        Safe HTML, or the reason for which the text can only be shown as logged.

    Example:
        >>> render_markdown("**bold** <script>").html
        '<p><strong>bold</strong> &lt;script&gt;</p>\\n'
    """
    if len(text) > MAX_CHARACTERS:
        return RenderedMarkdown(
            None,
            Message.format(
                "text.too_long_to_render",
                "Longer than {limit:,} characters: shown as logged.",
                limit=MAX_CHARACTERS,
            ),
        )
    # Importing the parser takes 0.1 s, which logs without text need not wait for.
    from tracklight.analysis.media.markdown_html import render_html, sanitize

    try:
        return RenderedMarkdown(sanitize(render_html(text, deadline or start_deadline())))
    except DeadlineExceededError:
        return RenderedMarkdown(
            None,
            Message(
                "text.too_slow_to_render",
                "This Markdown takes too long to render: shown as logged.",
            ),
        )
    except Exception:  # third-party parsers on untrusted input
        return RenderedMarkdown(
            None,
            Message("text.cannot_render", "This Markdown cannot be rendered: shown as logged."),
        )
