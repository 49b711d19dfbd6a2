"""What is said of events, each thing once, so that it can be looked through."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from tracklight.profiles.trace import REAL, TEXT, Said, Trace
from tracklight.types import Bool, Int64

#: Of each text whether it is what somebody looks for.
Test = Callable[[Sequence[str]], Bool]


class Sayings:
    """The arguments of all events as texts, ``key=value`` on one line, none of them twice."""

    def __init__(self, trace: Trace) -> None:
        self._count = len(trace)
        said = trace.said.take(np.lexsort((trace.said.bits, trace.said.kind, trace.said.key)))
        changes = (np.diff(said.key) != 0) | (np.diff(said.kind) != 0) | (np.diff(said.bits) != 0)
        is_first = np.append(np.ones(min(len(said.event), 1), bool), changes)
        self._event: Int64 = said.event
        self._which = np.cumsum(is_first) - 1
        self.texts = tuple(_iter_texts(trace, said.take(is_first)))

    def find(self, fits: Test) -> Bool:
        """Of each event whether one of its arguments fits."""
        found = np.zeros(self._count, bool)
        found[self._event[fits(self.texts)[self._which]]] = True
        return found


def _iter_texts(trace: Trace, said: Said) -> Iterator[str]:
    reals = said.bits.view(np.float64).tolist()
    rows = zip(said.key.tolist(), said.kind.tolist(), said.bits.tolist(), reals, strict=True)
    for key, kind, bits, real in rows:
        value = trace.read_text(bits) if kind == TEXT else real if kind == REAL else bits
        yield f"{trace.keys[key]}={value}".replace("\n", " ")
