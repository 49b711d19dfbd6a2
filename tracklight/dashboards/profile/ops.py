"""Op statistics: what took how long, on the host, on devices and in Python."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.dashboards.profile.asks import CaptureAsk
from tracklight.dashboards.profile.opened import Opened
from tracklight.dashboards.profile.overview import explain_empty
from tracklight.dashboards.profile.placing import get_ops
from tracklight.dashboards.profile.store import Store
from tracklight.dashboards.profile.tool import Tool, Why
from tracklight.media.reader import has_mark
from tracklight.plugin import Route
from tracklight.profiles.ops.book import Side
from tracklight.profiles.ops.sums import Ops
from tracklight.types import Float64, Int32

_MS = 1e9


class OpsAnswer(msgspec.Struct):
    """Ops, those that took longest by themselves first.

    ``sides`` are 0 for the host, 1 for devices, 2 for functions of Python. Times are those of the
    whole capture, in milliseconds; ``steps`` is how many steps it has. ``longest`` is the event of
    each op that took longest.
    """

    names: list[str]
    types: list[str]
    sides: NDArray[np.uint8]
    counts: Int32
    total_ms: Float64
    self_ms: Float64
    longest: Int32
    host_idle_ms: float
    device_idle_ms: float
    steps: int


def answer_ops(store: Store, ask: CaptureAsk) -> OpsAnswer:
    def make(opened: Opened) -> OpsAnswer:
        steps = len(opened.divide(ask.marker, ask.rules).steps.names)
        return _tell(get_ops(opened, ask.rules), steps)

    return store.find(ask, "ops", OpsAnswer, make)


def _tell(ops: Ops, steps: int) -> OpsAnswer:
    return OpsAnswer(
        names=[op.name for op in ops.ops],
        types=[op.type for op in ops.ops],
        sides=ops.sides.astype(np.uint8),
        counts=ops.counts.astype(np.int32),
        total_ms=ops.total_ps / _MS,
        self_ms=ops.self_ps / _MS,
        longest=ops.longest.astype(np.int32),
        host_idle_ms=ops.idle_ps[Side.HOST] / _MS,
        device_idle_ms=ops.idle_ps[Side.DEVICE] / _MS,
        steps=steps,
    )


def _explain(opened: Opened) -> Why | None:
    if get_ops(opened).ops:
        return None
    return explain_empty(opened) or Why(
        "no event of this capture is an op",
        "give TensorFlow's profiler host_tracer_level=2, or PyTorch's ProfilerActivity.CPU",
    )


def _routes(store: Store) -> Sequence[Route]:
    def ops(ask: CaptureAsk) -> OpsAnswer:
        """How long each op took, with and without what ran inside of it."""
        return answer_ops(store, ask)

    return [Route("ops", CaptureAsk, ops, "GET", immutable=has_mark)]


def _copies(store: Store, ask: CaptureAsk) -> Iterator[tuple[str, object]]:
    yield f"ops?capture={ask.capture}", answer_ops(store, ask)


TOOL = Tool("ops", "Ops", _routes, _explain, _copies)
