"""Tools about calls: PyTorch's operators and modules, flame graph and call tree.

The requests and responses of these tools are here as well.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
import numpy as np

from tracklight.analysis.profiles.calls import (
    CallSelection,
    CallTree,
    FrameKind,
    OperatorGrouping,
    OperatorKind,
    TimeOn,
    build_call_tree,
    has_modules,
    has_operators,
    has_stacks,
    list_frame_kinds,
    merge_trees,
    select_visible,
    summarize_operators,
)
from tracklight.analysis.profiles.trace import PS_PER_MS, Trace
from tracklight.dashboards.profile.schemas import (
    CaptureRequest,
    RequestText,
    TrackIds,
    has_version,
    make_baseline_request,
)
from tracklight.dashboards.profile.store import (
    CaptureStore,
    EmptyReason,
    LoadedCapture,
    explain_empty,
    make_tool,
)
from tracklight.errors import Message
from tracklight.types import Float64, Int32, Int64

# ---- requests and responses

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


# ---- tools

_MAX_OPERATOR_ROWS = 5000


# --- Operators and modules -----------------------------------------------------------------------


def get_operators_response(store: CaptureStore, request: OperatorsRequest) -> OperatorsResponse:
    """Return PyTorch's operators or modules with their time on the host and on devices."""

    def compute(capture: LoadedCapture) -> OperatorsResponse:
        rows = summarize_operators(capture.trace, request.group_by)
        shown = slice(_MAX_OPERATOR_ROWS)
        return OperatorsResponse(
            groupings=_list_groupings(capture.trace),
            names=rows.names[shown],
            groups=rows.groups[shown],
            kinds=list(rows.kinds[shown]),
            depths=rows.depths[shown],
            counts=rows.counts[shown].astype(np.int32),
            host_self_ms=_to_ms(rows.host_self_ps[shown]),
            host_total_ms=_to_ms(rows.host_total_ps[shown]),
            device_self_ms=_to_ms(rows.device_self_ps[shown]),
            device_total_ms=_to_ms(rows.device_total_ps[shown]),
            longest=rows.longest_event[shown].astype(np.int32),
            steps=len(capture.get_steps(request.marker).names),
        )

    name = f"operators {request.group_by}"
    return store.get_or_compute(request, name, OperatorsResponse, compute)


def _list_groupings(trace: Trace) -> list[OperatorGrouping]:
    groupings: list[OperatorGrouping] = ["name"]
    if len(trace.get_text_args("input_dims")[0]):
        groupings.append("shape")
    if has_stacks(trace):
        groupings.append("stack")
    if has_modules(trace):
        groupings.append("module")
    return groupings


def _to_ms(ps: Int64) -> Float64:
    ms: Float64 = ps / PS_PER_MS
    return ms


def _explain_no_operators(capture: LoadedCapture) -> EmptyReason | None:
    if has_operators(capture.trace):
        return None
    return explain_empty(capture) or EmptyReason(
        Message("profile.no_operators", "This capture has no operators of PyTorch."),
        Message("profile.no_operators_hint", "Ops of other frameworks are listed under Ops."),
    )


OPERATORS_TOOL = make_tool(
    "operators", OperatorsRequest, get_operators_response, _explain_no_operators
)


# --- Call trees ----------------------------------------------------------------------------------


def get_call_tree_response(store: CaptureStore, request: CallTreeRequest) -> CallTreeResponse:
    """Return calls merged by their stack, for a flame graph or call tree."""
    capture = store.load(request)
    if not request.baseline:
        tree, steps = _build_tree(capture, request, by_track=True)
        nodes = select_visible(tree.total_ps, tree.parent)
        return _make_response(capture, request, tree, nodes, steps)
    baseline = store.load(make_baseline_request(request))
    tree, steps = _build_tree(capture, request, by_track=False)
    before, baseline_steps = _build_tree(baseline, request, by_track=False)
    merged = merge_trees(before, tree)
    # Of both captures, the time of a step.
    per_step = np.maximum(
        _take(before.total_ps, merged.before) / baseline_steps,
        _take(tree.total_ps, merged.after) / steps,
    )
    both = CallTree(
        names=merged.names,
        parent=merged.parent,
        counts=_take(tree.counts, merged.after),
        total_ps=_take(tree.total_ps, merged.after),
        self_ps=_take(tree.self_ps, merged.after),
        longest_event=np.where(merged.after < 0, -1, tree.longest_event[merged.after])
        if len(tree)
        else np.full(len(merged.names), -1, np.int64),
    )
    nodes = select_visible(np.ceil(per_step).astype(np.int64), merged.parent)
    response = _make_response(capture, request, both, nodes, steps)
    response.baseline_total_ms = _to_ms(_take(before.total_ps, merged.before)[nodes])
    response.baseline_self_ms = _to_ms(_take(before.self_ps, merged.before)[nodes])
    response.baseline_steps = baseline_steps
    return response


def _take(values: Int64, nodes: Int64) -> Int64:
    """Return the values of nodes; 0 for those that a tree does not have."""
    taken: Int64 = np.append(values, 0)[nodes]
    return taken


def _build_tree(
    capture: LoadedCapture, request: CallTreeRequest, *, by_track: bool
) -> tuple[CallTree, int]:
    """Return the tree of a capture, and the number of steps that it covers."""
    steps = capture.get_steps(request.marker)
    last = len(steps.names) - 1
    selected = None
    if request.first_step >= 0 and last >= 0:
        first_step = min(request.first_step, last)
        selected = first_step, min(max(request.last_step, first_step), last)
    count = selected[1] - selected[0] + 1 if selected else max(len(steps.names), 1)
    # The tracks of another capture have other numbers.
    tracks = {at for at in request.tracks if at < len(capture.trace.tracks)} if by_track else ()
    selection = CallSelection(
        time_on=request.time_on,
        frames=request.frames,
        tracks=frozenset(tracks),
        steps=selected,
        below=request.below,
        by_track=by_track,
    )
    tree = build_call_tree(capture.trace, steps, capture.event_ops, selection)
    return tree, count


def _make_response(
    capture: LoadedCapture, request: CallTreeRequest, tree: CallTree, nodes: Int64, steps: int
) -> CallTreeResponse:
    trace = capture.trace
    position = np.full(len(tree) + 1, -1, np.int32)
    position[nodes] = np.arange(len(nodes))
    names = [tree.names[node] for node in nodes.tolist()]
    unique = {name: index for index, name in enumerate(dict.fromkeys(names))}
    return CallTreeResponse(
        unique_names=[*unique],
        names=np.array([unique[name] for name in names], np.int32),
        parents=position[tree.parent[nodes]],
        counts=tree.counts[nodes].astype(np.int32),
        total_ms=_to_ms(tree.total_ps[nodes]),
        self_ms=_to_ms(tree.self_ps[nodes]),
        events=tree.longest_event[nodes].astype(np.int32),
        baseline_total_ms=np.empty(0),
        baseline_self_ms=np.empty(0),
        steps=steps,
        baseline_steps=0,
        omitted_nodes=len(tree) - len(nodes),
        tracks=_list_tracks(trace, request.time_on == "device"),
        step_names=list(capture.get_steps(request.marker).names),
        frame_kinds=list_frame_kinds(trace),
        has_device=bool(trace.is_device_work.any()),
    )


def _list_tracks(trace: Trace, with_streams: bool) -> list[CallTreeTrack]:
    """Return the tracks with events, those with the most events first."""
    counts = np.bincount(trace.track, minlength=len(trace.tracks))
    order = np.argsort(-counts, kind="stable").tolist()
    return [
        CallTreeTrack(at, trace.tracks[at].name, trace.tracks[at].is_device)
        for at in order
        if counts[at] and (with_streams or not trace.tracks[at].is_device)
    ]


def _is_immutable(request: CallTreeRequest) -> bool:
    return has_version(request) and not request.baseline


CALL_TREE_TOOL = make_tool(
    "calls", CallTreeRequest, get_call_tree_response, explain_empty, _is_immutable
)
