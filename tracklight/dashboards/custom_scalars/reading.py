"""Finds the layouts that runs have logged."""

from __future__ import annotations

import numpy as np

from tracklight.errors import FormatError, TracklightError
from tracklight.formats.custom_scalars import LAYOUT_TAG, read_layout
from tracklight.formats.values import Tensor
from tracklight.media.reader import Reader, ValueAsk
from tracklight.plugin import Context
from tracklight.types import LayoutCategory

_KEPT_BYTES = 4 << 20
#: A layout is a page of text, not a library.
_MOST_BYTES = 1 << 20


class LayoutReader:
    """The layout that each run logged last."""

    def __init__(self, context: Context) -> None:
        self._log = context.log
        self._reader = Reader(context, _KEPT_BYTES)

    def read_all(self) -> tuple[dict[str, tuple[LayoutCategory, ...]], list[str]]:
        """By run, in the order of the runs, and what is wrong with the others, in sentences."""
        having = self._log.plugin_data(LAYOUT_TAG)
        found, problems = {}, []
        for run in (info.name for info in self._log.runs() if info.name in having):
            try:
                found[run] = self._read_last(run)
            except TracklightError as error:
                problems.append(f'The layout of "{run}" cannot be shown: {error}.')
        return found, problems

    def _read_last(self, run: str) -> tuple[LayoutCategory, ...]:
        located = self._log.located(run, LAYOUT_TAG)
        places = np.flatnonzero(~located.overwritten)
        if not len(places):
            return ()
        if located.size[places[-1]] > _MOST_BYTES:
            raise FormatError("it is far too large for a layout")
        value = self._reader.read(ValueAsk(run, LAYOUT_TAG, int(places[-1])))
        data = value.array.item() if isinstance(value, Tensor) and value.array.size == 1 else None
        if not isinstance(data, bytes):
            raise FormatError("it holds no layout")
        return read_layout(data)
