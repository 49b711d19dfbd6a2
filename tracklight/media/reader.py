"""Reads values and keeps the last ones decoded, within a bound."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec

from tracklight.errors import LogError
from tracklight.media.steps import make_marks
from tracklight.plugin_base import Context
from tracklight.types import Located
from tracklight.util.lru_cache import LruCache

if TYPE_CHECKING:
    from tracklight.formats.values import Decoded

_Key = tuple[str, str, int, int]

_KEPT_BYTES = 64 << 20
#: A value that is larger than all that is kept is asked for several times in a row, and then not.
_LARGE_BYTES = 256 << 20
_LARGE_IDLE_S = 20.0


class ValueAsk(msgspec.Struct):
    """One value of a tag of a run, as `SeriesSteps` tells of it."""

    run: str
    tag: str
    index: Annotated[int, msgspec.Meta(ge=0)]
    mark: int | None = None
    """With it, the answer can never be another one."""


def has_mark(ask: ValueAsk) -> bool:
    """Whether the ask names its value for good: what `Route.immutable` wants to know."""
    return ask.mark is not None


class Reader:
    """The values of a log for a dashboard; may be asked from any thread."""

    def __init__(self, context: Context, kept_bytes: int = _KEPT_BYTES) -> None:
        self._log = context.log
        self._kept_bytes = kept_bytes
        self._values: LruCache[_Key, Decoded] = LruCache(max_bytes=kept_bytes)
        self._large: LruCache[_Key, Decoded] = LruCache(
            max_bytes=_LARGE_BYTES, idle_s=_LARGE_IDLE_S
        )

    def read(self, ask: ValueAsk) -> Decoded:
        """The value, decoded as its kind says."""
        located = self._log.located(ask.run, ask.tag)
        mark = _find_mark(located, ask.index)
        if mark is None or ask.mark not in (None, mark):
            raise LogError(f'the log no longer has this value of "{ask.tag}"; load the page again')
        key = (ask.run, ask.tag, ask.index, mark)
        found = self._values.find(key) or self._large.find(key)
        if found is None:
            # Decoding brings protobuf in, which a board of scalars never needs.
            from tracklight.formats.values import decode_value

            data = self._log.read(located, ask.index)
            found = decode_value(data, located.kind)
            cache = self._values if len(data) <= self._kept_bytes else self._large
            cache.put(key, found, len(data))
        return found


def _find_mark(located: Located, index: int) -> int | None:
    return int(make_marks(located, slice(index, index + 1))[0]) if index < len(located) else None
