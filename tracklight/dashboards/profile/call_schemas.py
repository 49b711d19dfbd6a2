"""Requests and responses about calls: operators, modules and call trees."""

from __future__ import annotations

from typing import Annotated

import msgspec

from tracklight.analysis.profiles.calls.call_tree import FrameKind, TimeOn
from tracklight.analysis.profiles.calls.operators import OperatorGrouping, OperatorKind
from tracklight.dashboards.profile.schemas import CaptureRequest, RequestText, TrackIds
from tracklight.types import Float64, Int32

StepNumber = Annotated[int, msgspec.Meta(ge=-1, le=1_000_000_000)]


class OperatorsRequest(CaptureRequest):
    """The operators of a capture, by name, input shapes, stack or module."""

    group_by: OperatorGrouping = "name"


class OperatorsResponse(msgspec.Struct):
    """PyTorch's operators: longest self time on devices first, or modules as a tree.

    ``groups`` are the shapes of the inputs, or the innermost frames of the stack, one per line.
    ``depths`` say how deep modules are nested. ``longest`` is the longest call of each row.
    """

    groupings: list[OperatorGrouping]
    """What this capture can be grouped by."""
    names: list[str]
    groups: list[str]
    kinds: list[OperatorKind]
    depths: Int32
    counts: Int32
    host_self_ms: Float64
    host_total_ms: Float64
    device_self_ms: Float64
    device_total_ms: Float64
    longest: Int32
    steps: int


class CallTreeRequest(CaptureRequest):
    """Calls to merge by their stack.

    ``first_step`` and ``last_step`` are indexes; -1 for all of the capture. ``tracks`` are threads
    or streams; all if empty. With ``below``, only calls of this name and what they called. With a
    ``baseline``, the trees of both captures are merged, without their tracks.
    """

    time_on: TimeOn = "host"
    frames: FrameKind = "all"
    first_step: StepNumber = -1
    last_step: StepNumber = -1
    tracks: TrackIds = msgspec.field(default_factory=list)
    below: RequestText = ""


class CallTreeTrack(msgspec.Struct):
    """A thread or stream that calls can be selected from; ``id`` as in the timeline."""

    id: int
    name: str
    is_device: bool


class CallTreeResponse(msgspec.Struct):
    """Nodes of a tree, each after its parent, which is -1 for a root.

    ``names`` are indexes into ``unique_names``. Times are totals over ``steps`` steps. ``events``
    are the longest events, -1 for tracks. The columns of the baseline are empty without one.
    """

    unique_names: list[str]
    names: Int32
    parents: Int32
    counts: Int32
    total_ms: Float64
    self_ms: Float64
    events: Int32
    baseline_total_ms: Float64
    baseline_self_ms: Float64
    steps: int
    baseline_steps: int
    omitted_nodes: int
    """Nodes with too little time to be drawn."""
    tracks: list[CallTreeTrack]
    step_names: list[str]
    frame_kinds: list[FrameKind]
    has_device: bool
