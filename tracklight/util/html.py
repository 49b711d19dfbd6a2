"""HTML for notebook cells: tables, sparklines and images.

Everything passed in may come from a log and is escaped here. Only inline styles are used, because
notebooks strip style sheets from untrusted output; colors are inherited from the notebook.
"""

from __future__ import annotations

import base64
import html
import math
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone

#: Longer cells are truncated; run names and texts may have any length.
_MAX_CELL_CHARS = 200
_MAX_IMAGES = 16
_MAX_IMAGE_BYTES = 4 << 20
_SPARK_WIDTH_PX, _SPARK_HEIGHT_PX = 320, 64

_CELL = "padding:2px 8px;text-align:{align};vertical-align:top;white-space:nowrap"


class Markup(str):
    """HTML produced by this module, which must not be escaped again."""

    __slots__ = ()


def escape(text: object) -> Markup:
    # File names may contain bytes that are not valid Unicode, which a notebook cannot store.
    unicode = str(text).encode("utf-8", "backslashreplace").decode("utf-8")
    return Markup(html.escape(unicode, quote=True))


def render_block(title: str, *parts: str) -> Markup:
    """Return a block with a title line above ``parts``, which are markup already."""
    return Markup(
        f'<div><div style="margin:2px 0"><b>{escape(title)}</b></div>{"".join(parts)}</div>'
    )


def render_note(text: str) -> Markup:
    return Markup(f'<div style="opacity:.7">{escape(text)}</div>')


def render_table(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> Markup:
    """Return a table of any values; columns of numbers are aligned to the right."""
    rows = list(rows)
    first = rows[0] if rows else [""] * len(headers)
    head = "".join(
        f'<th scope="col" style="{_CELL.format(align=_align(value))}">{label}</th>'
        for label, value in zip(map(escape, map(_truncate, headers)), first, strict=True)
    )
    body = "".join(f"<tr>{''.join(map(_render_cell, row))}</tr>" for row in rows)
    return Markup(
        '<div style="overflow-x:auto"><table style="border-collapse:collapse">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def render_sparkline(x: Sequence[float], y: Sequence[float]) -> Markup:
    """Return a small line chart; NaN and infinite values leave a gap."""
    finite = [v for v in y if math.isfinite(v)]
    if len(finite) < 2:
        return Markup("")
    left, right, low, high = min(x), max(x), min(finite), max(finite)
    width, height = (right - left) or 1.0, (high - low) or 1.0
    if not math.isfinite(height):
        return Markup("")
    segments: list[list[str]] = [[]]
    for position, value in zip(x, y, strict=True):
        if not math.isfinite(value):
            segments.append([])
            continue
        x_px = 2 + (position - left) / width * (_SPARK_WIDTH_PX - 4)
        y_px = _SPARK_HEIGHT_PX - 2 - (value - low) / height * (_SPARK_HEIGHT_PX - 4)
        segments[-1].append(f"{x_px:.1f},{y_px:.1f}")
    lines = "".join(
        f'<polyline points="{" ".join(points)}" fill="none" stroke="currentColor"/>'
        for points in segments
        if points
    )
    return Markup(
        f'<svg width="{_SPARK_WIDTH_PX}" height="{_SPARK_HEIGHT_PX}" role="img" '
        f'aria-label="Line chart" style="display:block">{lines}</svg>'
    )


def render_images(images: Iterable[tuple[str, bytes]]) -> Markup:
    """Return inline images from pairs of media type and content.

    The media type must not come from the log. Types other than ``image/…``, SVG, and images beyond
    the size budget are not shown but counted.
    """
    shown: list[str] = []
    hidden, budget = 0, _MAX_IMAGE_BYTES
    for media_type, data in images:
        is_image = media_type.startswith("image/") and "svg" not in media_type
        if not is_image or len(shown) == _MAX_IMAGES or len(data) > budget:
            hidden += 1
            continue
        budget -= len(data)
        source = f"data:{escape(media_type)};base64,{base64.b64encode(data).decode('ascii')}"
        shown.append(
            f'<img src="{source}" alt="" style="max-width:256px;max-height:256px;min-width:32px;'
            'margin:2px;image-rendering:pixelated">'
        )
    note = render_note(f"{hidden:,} more not shown") if hidden else ""
    return Markup(f'<div style="display:flex;flex-wrap:wrap">{"".join(shown)}</div>{note}')


def format_time(seconds: float | None) -> str:
    """Format a wall time in UTC; empty if it is missing or out of range."""
    if seconds is None or not math.isfinite(seconds):
        return ""
    try:
        time = datetime.fromtimestamp(seconds, timezone.utc)
    except (OverflowError, OSError, ValueError):
        return ""
    return time.strftime("%Y-%m-%d %H:%M:%S UTC")


def format_count(count: int, noun: str) -> str:
    """Format a count with its noun: ``1 run``, ``1,234 runs``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _render_cell(value: object) -> str:
    text = value if isinstance(value, Markup) else escape(_truncate(_format(value)))
    return f'<td style="{_CELL.format(align=_align(value))}">{text}</td>'


def _align(value: object) -> str:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return "right;font-variant-numeric:tabular-nums" if is_number else "left"


def _format(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)


def _truncate(text: str) -> str:
    return text if len(text) <= _MAX_CELL_CHARS else f"{text[: _MAX_CELL_CHARS - 1]}…"
