"""Roofline: how near ops come to what their device can do, and what holds them back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from tracklight.dashboards.profile.asks import CaptureAsk
from tracklight.dashboards.profile.opened import Opened
from tracklight.dashboards.profile.overview import explain_empty
from tracklight.dashboards.profile.placing import (
    get_naming,
    get_ops,
    get_placement,
    get_programs,
)
from tracklight.dashboards.profile.store import Store
from tracklight.dashboards.profile.tool import Tool, Why
from tracklight.media.reader import has_mark
from tracklight.plugin import Route
from tracklight.profiles.roofline.peaks import find_peaks
from tracklight.profiles.roofline.points import Point, find_points
from tracklight.types import Float64, Int32

_MS = 1e9
_MOST_POINTS = 1000


class Roof(msgspec.Struct):
    """The most operations a second of one kind of units."""

    name: str
    flops_per_s: float


class RooflineAnswer(msgspec.Struct):
    """Ops of which it is known what they cost, those that took longest first.

    ``flops`` and ``bytes`` are counted from shapes, for all calls together. Without ``roofs``
    nobody says how fast the device is; ``is_guess`` where that was reckoned from its units.
    """

    device: str
    roofs: list[Roof]
    bytes_per_s: float
    is_guess: bool
    names: list[str]
    types: list[str]
    counts: Int32
    self_ms: Float64
    flops: Float64
    bytes: Float64
    longest: Int32
    steps: int


def answer_roofline(store: Store, ask: CaptureAsk) -> RooflineAnswer:
    def make(opened: Opened) -> RooflineAnswer:
        return _tell(opened, len(opened.find_steps(ask.marker).names))

    return store.find(ask, "roofline", RooflineAnswer, make)


def get_points(opened: Opened) -> list[Point]:
    def find() -> list[Point]:
        return find_points(opened.trace, get_naming(opened), get_ops(opened), get_placement(opened))

    return opened.find("points", find)


def _tell(opened: Opened, steps: int) -> RooflineAnswer:
    points = get_points(opened)[:_MOST_POINTS]
    roofs, bytes_per_s, is_guess = _find_roofs(opened)
    devices = opened.trace.devices
    return RooflineAnswer(
        device=devices[0].name if devices else "",
        roofs=roofs,
        bytes_per_s=bytes_per_s,
        is_guess=is_guess,
        names=[point.op.name for point in points],
        types=[point.op.type for point in points],
        counts=np.array([point.calls for point in points], np.int32),
        self_ms=np.array([point.self_ps for point in points], np.float64) / _MS,
        flops=np.array([point.flops for point in points], np.float64),
        bytes=np.array([point.bytes for point in points], np.float64),
        longest=np.array([point.longest for point in points], np.int32),
        steps=steps,
    )


def _find_roofs(opened: Opened) -> tuple[list[Roof], float, bool]:
    """A device may be there and not have been used; its roof says nothing of the host."""
    devices = opened.trace.devices
    peaks = find_peaks(devices[0]) if devices and opened.trace.on_device.any() else None
    if peaks is None:
        return [], 0.0, False
    named = {
        "32 bits": peaks.plain,
        "TF32 on tensor cores": peaks.tensor_32,
        "16 bits on tensor cores": peaks.tensor_16,
    }
    roofs = [Roof(name, most) for name, most in named.items() if most]
    return roofs, peaks.bytes_per_s, peaks.is_guess


def _explain(opened: Opened) -> Why | None:
    if get_programs(opened) or len(opened.trace.find_texts("input_dims")[0]):
        return None
    return explain_empty(opened) or Why(
        "it is not known how much any op of this capture computes",
        "PyTorch records shapes with record_shapes=True; TensorFlow and JAX tell of programs that "
        "XLA compiled",
    )


def _routes(store: Store) -> Sequence[Route]:
    def roofline(ask: CaptureAsk) -> RooflineAnswer:
        """What ops computed and moved in which time, and what their device could have done."""
        return answer_roofline(store, ask)

    return [Route("roofline", CaptureAsk, roofline, "GET", immutable=has_mark)]


def _copies(store: Store, ask: CaptureAsk) -> Iterator[tuple[str, object]]:
    yield f"roofline?capture={ask.capture}", answer_roofline(store, ask)


TOOL = Tool("roofline", "Roofline", _routes, _explain, _copies)
