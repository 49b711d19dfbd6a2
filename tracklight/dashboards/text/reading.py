"""Reads logged texts."""

from __future__ import annotations

from tracklight.dashboards.text.layout import Texts
from tracklight.errors import UsageError
from tracklight.formats.values import Text
from tracklight.media.reader import Reader, ValueAsk
from tracklight.plugin import Context

_KEPT_BYTES = 16 << 20


class TextReader:
    """The texts of a log as arrays of strings."""

    def __init__(self, context: Context) -> None:
        self._reader = Reader(context, _KEPT_BYTES)

    def read(self, ask: ValueAsk) -> Texts:
        value = self._reader.read(ask)
        if not isinstance(value, Text):
            raise UsageError(f'"{ask.tag}" holds no text')
        return value.array
