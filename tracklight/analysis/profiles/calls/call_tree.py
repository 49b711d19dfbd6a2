"""Call trees: calls merged by their stack, for flame graphs, and the difference of two.

On the host, the time of a call is its duration. On devices, it is the time of the kernels and
copies that were launched during the call; kernels are the leaves of the tree. Tracks are the
roots, unless two trees are compared: threads have other names in every capture.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from tracklight.analysis.profiles.arrays import unique_inverse
from tracklight.analysis.profiles.calls.nesting import (
    Nesting,
    find_launchers,
    merge_paths,
    nest_events,
    select_below,
)
from tracklight.analysis.profiles.ops import EventOps
from tracklight.analysis.profiles.steps import Steps
from tracklight.analysis.profiles.trace import Trace
from tracklight.types import Bool, Int32, Int64

TimeOn = Literal["host", "device"]
FrameKind = Literal["all", "ops", "python", "modules"]

_MODULE_PREFIX = "nn.Module: "
_PYTHON_CATEGORY = "python_function"
#: Numbers of steps, which would keep the calls of different steps apart.
_STEP_NUMBER = re.compile(r"#\d+\Z")
#: Nodes with a smaller share of the time are not worth sending, nor are more than this many.
_MIN_SHARE, _MAX_NODES = 1 / 4000, 5000


@dataclass(frozen=True)
class CallSelection:
    """Which calls to merge. The defaults are all calls on the host."""

    time_on: TimeOn = "host"
    frames: FrameKind = "all"
    """Which events are frames of a stack; others are left out, and their time is their caller's."""
    tracks: frozenset[int] = frozenset()
    """Threads of the host or streams of devices; all if empty."""
    steps: tuple[int, int] | None = None
    """The first and the last step; all of the capture if None."""
    below: str = ""
    """Only calls of this name and what they called."""
    by_track: bool = True
    """Whether tracks are the roots; otherwise, their calls are merged."""


class CallTree(NamedTuple):
    """Nodes of a tree, each after its parent."""

    names: list[str]
    parent: Int64
    """-1 for a root."""
    counts: Int64
    """Number of calls; at the leaves of a tree of device time, number of kernels."""
    total_ps: Int64
    self_ps: Int64
    longest_event: Int64
    """The longest event of each node; -1 for a track."""

    def __len__(self) -> int:
        return len(self.names)


def list_frame_kinds(trace: Trace) -> list[FrameKind]:
    """Return the kinds of frames that a trace has."""
    kinds: list[FrameKind] = ["all"]
    if "cpu_op" in trace.categories:
        kinds.append("ops")
    if _PYTHON_CATEGORY in trace.categories or any(name.startswith("$") for name in trace.names):
        kinds.append("python")
    if any(name.startswith(_MODULE_PREFIX) for name in trace.names):
        kinds.append("modules")
    return kinds


def build_call_tree(
    trace: Trace, steps: Steps, event_ops: EventOps, selection: CallSelection
) -> CallTree:
    """Merge the selected calls by their stack."""
    mask = _mask_frames(trace, event_ops, selection.frames) & ~trace.on_device
    host_tracks = {at for at in selection.tracks if not trace.tracks[at].is_device}
    if host_tracks:
        mask &= _mask_tracks(trace, host_tracks)
    if selection.time_on == "device":
        return _build_device_tree(trace, steps, selection, mask)
    window = None
    if selection.steps is not None:
        first, last = selection.steps
        window = int(steps.host_spans[first, 0]), int(steps.host_spans[last, 1])
    nesting = nest_events(trace, mask & (trace.duration_ps > 0), window)
    if selection.below:
        nesting = select_below(nesting, _mask_name(trace, selection.below))
    nodes = _Nodes(trace, nesting, selection.by_track)
    return nodes.build(nodes.sum(nesting.total_ps), nodes.sum(nesting.self_ps))


def _mask_frames(trace: Trace, event_ops: EventOps, kind: FrameKind) -> Bool:
    if kind == "modules":
        return trace.match_names(lambda name: name.startswith(_MODULE_PREFIX))
    if kind == "ops":
        return (
            trace.match_categories("cpu_op") if any(trace.categories) else event_ops.op_index >= 0
        )
    if kind == "python":
        is_frame = trace.match_names(lambda name: name.startswith("$"))
        return trace.match_categories(_PYTHON_CATEGORY) | is_frame
    return np.ones(len(trace), bool)


def _mask_tracks(trace: Trace, tracks: set[int]) -> Bool:
    is_selected = np.zeros(len(trace.tracks), bool)
    is_selected[list(tracks)] = True
    return is_selected[trace.track]


def _mask_name(trace: Trace, name: str) -> Bool:
    return trace.match_names(lambda each: _STEP_NUMBER.sub("", each) == name)


def _build_device_tree(
    trace: Trace, steps: Steps, selection: CallSelection, mask: Bool
) -> CallTree:
    nesting = nest_events(trace, mask)
    kernels, rows = find_launchers(trace, nesting)
    launcher = np.full(len(trace), -1, np.int64)
    launcher[kernels] = rows
    kernels = np.flatnonzero(_mask_kernels(trace, steps, selection))
    if selection.below:
        selected = select_below(nesting, _mask_name(trace, selection.below))
        row_of = np.full(len(trace) + 1, -1, np.int64)
        row_of[selected.events] = np.arange(len(selected.events))
        launcher = np.where(launcher >= 0, row_of[nesting.events[launcher]], -1)
        nesting = selected
    if selection.below or any(not trace.tracks[at].is_device for at in selection.tracks):
        kernels = kernels[launcher[kernels] >= 0]
    nodes = _Nodes(trace, nesting, selection.by_track)
    return nodes.build_with_kernels(kernels, launcher[kernels])


def _mask_kernels(trace: Trace, steps: Steps, selection: CallSelection) -> Bool:
    mask = trace.is_device_work & (trace.duration_ps > 0)
    streams = {at for at in selection.tracks if trace.tracks[at].is_device}
    if streams:
        mask &= _mask_tracks(trace, streams)
    if selection.steps is not None:
        first, last = selection.steps
        mask &= (steps.device_steps >= first) & (steps.device_steps <= last)
    return mask


class _Nodes:
    """The nodes of merged calls: tracks first, then calls by depth."""

    def __init__(self, trace: Trace, nesting: Nesting, by_track: bool) -> None:
        self._trace, self._nesting = trace, nesting
        names, name_of = _merge_step_names(trace)
        tracks, track_index = unique_inverse(trace.track[nesting.events])
        name = name_of[trace.name[nesting.events]].astype(np.int64)
        name_count = max(len(names), 1)
        if by_track:
            # Calls of different tracks stay apart: the name of a root includes its track.
            is_root = nesting.caller < 0
            name = np.where(is_root, name + name_count * (1 + track_index), name)
        else:
            tracks = tracks[:0]
        self.track_count = len(tracks)
        node, parent, keys = merge_paths(nesting, name)
        self.node = node + self.track_count
        root = keys // name_count - 1 if by_track else np.full(len(keys), -1)
        parent = np.where(parent < 0, root, parent + self.track_count)
        self.parent = np.append(np.full(self.track_count, -1), parent)
        self.names = [trace.tracks[at].name or trace.tracks[at].process for at in tracks.tolist()]
        self.names += [names[key] for key in (keys % name_count).tolist()]

    def sum(self, values: Int64) -> Int64:
        total = np.zeros(len(self.names), np.int64)
        np.add.at(total, self.node, values)
        return total

    def build(self, total_ps: Int64, self_ps: Int64) -> CallTree:
        """Return the tree; the time of a track is that of its outermost calls."""
        outermost = np.flatnonzero((self.parent >= 0) & (self.parent < self.track_count))
        np.add.at(total_ps, self.parent[outermost], total_ps[outermost])
        longest_ps = np.full(len(self.names), -1, np.int64)
        np.maximum.at(longest_ps, self.node, self._nesting.total_ps)
        is_longest = self._nesting.total_ps == longest_ps[self.node]
        longest = np.full(len(self.names), -1, np.int64)
        longest[self.node[is_longest]] = self._nesting.events[is_longest]
        counts = np.bincount(self.node, minlength=len(self.names))
        return CallTree(self.names, self.parent, counts, total_ps, self_ps, longest)

    def build_with_kernels(self, kernels: Int64, rows: Int64) -> CallTree:
        """Return the tree of device time. Kernels without a known launch are below a root."""
        trace, count = self._trace, len(self.names)
        duration = trace.duration_ps[kernels]
        # Node 0 stands for the track of kernels whose launch is unknown.
        stream, stream_index = unique_inverse(trace.track[kernels[rows < 0]])
        parent = np.full(len(kernels), -1, np.int64)
        parent[rows >= 0] = self.node[rows[rows >= 0]] if len(self.node) else -1
        parent[rows < 0] = count + stream_index
        names = [*self.names, *(trace.tracks[at].name for at in stream.tolist())]
        base = len(names)
        unique, leaf = unique_inverse(parent * len(trace.names) + trace.name[kernels])
        leaf_parent = unique // max(len(trace.names), 1)
        names += [trace.names[key] for key in (unique % max(len(trace.names), 1)).tolist()]
        parents = np.concatenate([self.parent, np.full(len(stream), -1), leaf_parent])
        self_ps, counts = np.zeros(len(names), np.int64), np.zeros(len(names), np.int64)
        np.add.at(self_ps, leaf + base, duration)
        counts[:count] = np.bincount(self.node, minlength=count)
        np.add.at(counts, leaf + base, 1)
        total_ps = self_ps.copy()
        for node in range(len(names) - 1, -1, -1):
            if parents[node] >= 0:
                total_ps[parents[node]] += total_ps[node]
        longest = np.full(len(names), -1, np.int64)
        order = np.argsort(duration, kind="stable")
        longest[leaf[order] + base] = kernels[order]
        if len(self.node):
            longest[self.node[::-1]] = self._nesting.events[::-1]
        return take_nodes(
            CallTree(names, parents, counts, total_ps, self_ps, longest),
            np.flatnonzero(total_ps > 0),
        )


def _merge_step_names(trace: Trace) -> tuple[list[str], Int32]:
    """Return names without numbers of steps, and the index of the new name of each name."""
    index: dict[str, int] = {}
    new = [index.setdefault(_STEP_NUMBER.sub("", name), len(index)) for name in trace.names]
    return [*index], np.array(new, np.int32)


def take_nodes(tree: CallTree, nodes: Int64) -> CallTree:
    """Return some nodes of a tree, which include the parents of all of them."""
    position = np.full(len(tree) + 1, -1, np.int64)
    position[nodes] = np.arange(len(nodes))
    return CallTree(
        names=[tree.names[node] for node in nodes.tolist()],
        parent=position[tree.parent[nodes]],
        counts=tree.counts[nodes],
        total_ps=tree.total_ps[nodes],
        self_ps=tree.self_ps[nodes],
        longest_event=tree.longest_event[nodes],
    )


def select_visible(total_ps: Int64, parent: Int64) -> Int64:
    """Return the nodes that are large enough to be drawn, with their parents."""
    whole_ps = int(total_ps[parent < 0].sum())
    limit_ps = whole_ps * _MIN_SHARE
    if (total_ps >= limit_ps).sum() > _MAX_NODES:
        limit_ps = float(np.sort(total_ps)[-_MAX_NODES])
    # A parent is at least as large as its children, so that it is kept with them.
    return np.flatnonzero(total_ps >= max(limit_ps, 1))


class MergedTrees(NamedTuple):
    """The nodes of two trees, merged by stack."""

    names: list[str]
    parent: Int64
    before: Int64
    """The node in the first tree; -1 for none."""
    after: Int64


def merge_trees(before: CallTree, after: CallTree) -> MergedTrees:
    """Merge two trees: nodes with the same names on their stacks are one."""
    index: dict[tuple[int, str], int] = {}
    names: list[str] = []
    parents: list[int] = []
    columns: list[list[int]] = []
    for tree in (before, after):
        merged = [-1] * (len(tree) + 1)
        for node, (name, parent) in enumerate(zip(tree.names, tree.parent.tolist(), strict=True)):
            key = merged[parent], name
            at = index.setdefault(key, len(names))
            if at == len(names):
                names.append(name)
                parents.append(key[0])
            merged[node] = at
        columns.append(merged[:-1])
    nodes = np.full((2, len(names)), -1, np.int64)
    for row, merged in zip(nodes, columns, strict=True):
        row[merged] = np.arange(len(merged))
    return MergedTrees(names, np.array(parents, np.int64), nodes[0], nodes[1])
