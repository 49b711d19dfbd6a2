"""By what the nodes of a graph can be coloured: only what the graph or a profile tells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan
from typing import Literal

import numpy as np

from tracklight.graphs.census import Census, Labels
from tracklight.graphs.changes import NAMES
from tracklight.graphs.comparing import Comparison
from tracklight.graphs.hierarchy import Hierarchy
from tracklight.graphs.profile import Execution
from tracklight.graphs.tpu import RUNS_ON_TPU, is_tensorflow
from tracklight.types import Float64, Int32

By = Literal["device", "op", "time", "memory", "parameters", "cluster", "tpu", "change"]
Unit = Literal["", "us", "bytes"]

_TPU = ("runs on a TPU", "does not run on a TPU")


@dataclass(frozen=True, slots=True, eq=False)
class Category:
    """A word for each leaf, by rank; -1 for those of which nothing is known."""

    by: By
    title: str
    names: Sequence[str]
    code: Int32

    def count(self, first: int, last: int) -> list[tuple[int, int]]:
        """How often each word comes in a range of leaves, the most frequent first."""
        known = self.code[first:last]
        counts = np.bincount(known[known >= 0], minlength=len(self.names))
        order = np.argsort(-counts, kind="stable")
        return [(int(place), int(counts[place])) for place in order if counts[place]]


@dataclass(frozen=True, slots=True, eq=False)
class Number:
    """A number for each leaf, by rank; NaN for those of which nothing is known."""

    by: By
    title: str
    unit: Unit
    value: Float64

    def total(self, first: int, last: int) -> float:
        known = self.value[first:last]
        known = known[~np.isnan(known)]
        return float(known.sum()) if len(known) else nan


Scale = Category | Number


def list_scales(
    hierarchy: Hierarchy,
    census: Census,
    profile: Mapping[str, Execution],
    comparison: Comparison | None = None,
) -> list[Scale]:
    """All scales that say anything about this graph."""
    found: list[Scale] = [
        Category("op", "Operation", *_leave_out_unknown(census.op)),
        Category("device", "Device", *_leave_out_unknown(census.device)),
        Category("cluster", "XLA cluster", *_leave_out_unknown(census.cluster)),
        Number("parameters", "Parameters", "", np.where(census.parameters, census.parameters, nan)),
        *_iter_profiled(hierarchy, profile),
    ]
    if is_tensorflow(census.op.names):
        found.append(_judge_ops(census))
    if comparison is not None:
        code = comparison.change[hierarchy.order]
        found.append(Category("change", "Change", NAMES, code))
    return [scale for scale in found if _says_anything(scale)]


def _iter_profiled(hierarchy: Hierarchy, profile: Mapping[str, Execution]) -> Iterator[Scale]:
    if not profile:
        return
    names = hierarchy.graph.names
    ran = [profile.get(names[place]) for place in hierarchy.order.tolist()]
    times = [nan if one is None else one.time_us for one in ran]
    memory = [nan if one is None else float(one.memory_bytes) for one in ran]
    yield Number("time", "Compute time", "us", np.array(times))
    yield Number("memory", "Memory", "bytes", np.array(memory))


def _leave_out_unknown(labels: Labels) -> tuple[Sequence[str], Int32]:
    return labels.names[1:], labels.code - np.int32(1)


def _judge_ops(census: Census) -> Category:
    known = np.array([-1 if not op else int(op not in RUNS_ON_TPU) for op in census.op.names])
    return Category("tpu", "TPU compatibility", _TPU, known[census.op.code].astype(np.int32))


def _says_anything(scale: Scale) -> bool:
    if isinstance(scale, Category):
        return bool((scale.code >= 0).any())
    total = scale.total(0, len(scale.value))
    return not isnan(total) and total > 0
