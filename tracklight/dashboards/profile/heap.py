"""Profiles of memory in pprof's form: what is held, by the line that asked for it."""

from __future__ import annotations

import msgspec
import numpy as np

from tracklight.dashboards.profile.asks import CaptureAsk
from tracklight.dashboards.profile.opened import Opened
from tracklight.dashboards.profile.store import Store
from tracklight.formats.pprof import read_profile
from tracklight.profiles.memory.heap import Held, find_held
from tracklight.types import Float64, Int32

_MOST_ROWS = 20_000


class HeapAnswer(msgspec.Struct):
    """What is held, the largest first; ``total_bytes`` is that of all, told or not.

    ``wheres`` are functions, files and lines of the user's program, ``stacks`` all that was called,
    a line each, the innermost first.
    """

    wheres: list[str]
    stacks: list[str]
    kinds: list[str]
    devices: list[str]
    counts: Int32
    bytes: Float64
    total_bytes: float


def answer_heap(store: Store, ask: CaptureAsk) -> HeapAnswer:
    def make(opened: Opened) -> HeapAnswer:
        held = _read(store, ask) if opened.file.kind == "pprof" else []
        shown = held[:_MOST_ROWS]
        return HeapAnswer(
            wheres=[each.where for each in shown],
            stacks=["\n".join(each.stack) for each in shown],
            kinds=[each.kind for each in shown],
            devices=[each.device for each in shown],
            counts=np.array([each.times for each in shown], np.int32),
            bytes=np.array([each.bytes for each in shown], np.float64),
            total_bytes=float(sum(each.bytes for each in held)),
        )

    return store.find(ask, "heap", HeapAnswer, make)


def _read(store: Store, ask: CaptureAsk) -> list[Held]:
    with store.fetch(ask) as path:
        return find_held(read_profile(path.read_bytes()))
