"""Links between events: from launches to device work, and from one thread to another.

A launch is the host call that submits work to a device. Profilers give it and its kernels or copies
the same correlation id. Other calls of the device's API have such an id as well, but start no work.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from tracklight.analysis.profiles.arrays import unique_inverse
from tracklight.analysis.profiles.trace import Trace
from tracklight.types import Bool, Int64

#: Ids that a launch and its kernel share: of PyTorch, and of TensorFlow and JAX.
CORRELATION_KEYS = ("correlation", "correlation_id")

_API_CATEGORIES = ("cuda_runtime", "cuda_driver")
#: Calls that launch a kernel or a graph of kernels.
_LAUNCH_CALL = re.compile(r"(cuda|cu|hip)[A-Z]?\w*?Launch(?!HostFunc)")
_API_CALL = re.compile(r"(cuda|cu|hip)[A-Z]\w+\Z")
_MEMORY_PREFIX = "mem"


class EventPairs(NamedTuple):
    """Events and the events that they caused on another track."""

    source: Int64
    target: Int64


def pair_launches(trace: Trace) -> EventPairs:
    """Pair each device event with the first host event of the same correlation id."""
    pairs = []
    for key in CORRELATION_KEYS:
        events, ids = trace.get_int_args(key)
        on_device = trace.on_device[events]
        pairs.append(_pair(events, ids, ~on_device, on_device))
    return EventPairs(
        np.concatenate([each.source for each in pairs]),
        np.concatenate([each.target for each in pairs]),
    )


def pair_handoffs(trace: Trace) -> EventPairs:
    """Pair producers and consumers of TensorFlow contexts that have exactly one producer."""
    producers, produced = _get_contexts(trace, "_pt", "_p")
    consumers, consumed = _get_contexts(trace, "_ct", "_c")
    types, numbers = np.concatenate([produced, consumed]).T
    # One number for each pair is much faster to sort than rows.
    unique_types, type_index = unique_inverse(types)
    contexts, ids = unique_inverse(unique_inverse(numbers)[1] * len(unique_types) + type_index)
    events = np.concatenate([producers, consumers])
    is_producer = np.arange(len(events)) < len(producers)
    producer_counts = np.bincount(ids[is_producer], minlength=len(contexts))
    is_unique = producer_counts[ids] == 1
    is_producer = is_producer[is_unique]
    return _pair(events[is_unique], ids[is_unique], is_producer, ~is_producer)


def mask_launches(trace: Trace) -> Bool:
    """Return a mask of the host events that launch kernels.

    TensorFlow and JAX name some launches after the kernel instead of the call.
    """
    is_call = ~trace.on_device & trace.match_names(
        lambda name: _LAUNCH_CALL.match(name) is not None
    )
    if not trace.on_device.any():
        return np.zeros(len(trace), bool)
    has_id = np.zeros(len(trace), bool)
    for key in CORRELATION_KEYS:
        has_id[trace.get_int_args(key)[0]] = True
    is_launch: Bool = is_call & (has_id | trace.match_categories(*_API_CATEGORIES))
    source, target = pair_launches(trace)
    is_copy = trace.match_names(lambda name: name.lower().startswith(_MEMORY_PREFIX))
    is_api_call = trace.match_names(lambda name: _API_CALL.match(name) is not None)
    starts_kernel = source[~is_copy[target] & trace.is_device_work[target]]
    is_launch[starts_kernel[~is_api_call[starts_kernel]]] = True
    return is_launch


def _get_contexts(trace: Trace, type_key: str, id_key: str) -> tuple[Int64, Int64]:
    """Return the events with both arguments, and rows of their values."""
    type_events, types = trace.get_int_args(type_key)
    id_events, ids = trace.get_int_args(id_key)
    type_row = np.full(len(trace), -1, np.int64)
    type_row[type_events] = np.arange(len(type_events))
    order = np.argsort(id_events, kind="stable")
    order = order[type_row[id_events[order]] >= 0]
    events = id_events[order]
    return events, np.column_stack([types[type_row[events]], ids[order]])


def _pair(events: Int64, ids: Int64, is_source: Bool, is_target: Bool) -> EventPairs:
    """Pair each target with the first source of the same id."""
    sources, source_ids = events[is_source], ids[is_source]
    targets, target_ids = events[is_target], ids[is_target]
    if not len(sources):
        return EventPairs(sources, targets[:0])
    order = np.argsort(source_ids, kind="stable")
    sources, source_ids = sources[order], source_ids[order]
    match = np.minimum(np.searchsorted(source_ids, target_ids), len(sources) - 1)
    is_match = (source_ids[match] == target_ids) & (sources[match] != targets)
    return EventPairs(sources[match[is_match]], targets[is_match])
