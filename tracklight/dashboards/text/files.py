"""A logged text as a file, and as lines that can be compared."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np

from tracklight.dashboards.text.asks import RawTextAsk
from tracklight.dashboards.text.layout import Texts
from tracklight.plugin import Blob


def make_file(texts: Texts, ask: RawTextAsk) -> Blob:
    """A plain text as it was logged; an array as JSON."""
    content = msgspec.json.encode(texts.tolist()) if texts.ndim else str(texts[()]).encode()
    media_type = "application/json" if texts.ndim else "text/plain; charset=utf-8"
    suffix = "json" if texts.ndim else "md"
    name = f"{ask.run}_{ask.tag}_{ask.index}.{suffix}".replace("/", "_")
    return Blob(content, media_type, name if ask.download else None, ask.mark is not None)


def split_lines(texts: Texts) -> list[str]:
    """The lines of a text; each string of an array under a line with its place."""
    if not texts.ndim:
        return str(texts[()]).splitlines()
    strings = iter_strings(texts)
    return [line for place, text in strings for line in (str(place), *text.splitlines())]


def iter_strings(texts: Texts) -> Iterator[tuple[list[int], str]]:
    """Every string with its place in the array, which is empty for a plain text."""
    for place, text in np.ndenumerate(texts):
        yield list(place), text
