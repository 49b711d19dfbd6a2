"""What the time of a step went into, host and device together, each instant once.

Of several things that go on at once, the one that is closest to the work that a step is for counts:
what a device computes hides what its host does meanwhile. How much each part took by itself is kept
beside that, so that it can be said what was hidden.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from tracklight.profiles.columns.numbering import number
from tracklight.profiles.columns.sweep import cover, divide
from tracklight.profiles.ops.opname import find_op
from tracklight.profiles.steps.steps import Steps
from tracklight.profiles.trace import Trace
from tracklight.types import Bool, Int64

#: Not a layer that happens to be called so, and not the compiler's other services.
_COMPILES = re.compile(r"[^/]*\b(Xla|backend_)?[Cc]ompile(AndLoad|Module)?\b")

#: Where fewer events of a host than this are ops, its profiler does not record them.
_FEW_OPS = 0.2


class Part(IntEnum):
    """In rising order: of two that go on at once, the later one counts."""

    HOST_COMPUTE = 0
    COMPILATION = 1
    KERNEL_LAUNCH = 2
    HOST_TO_DEVICE = 3
    INPUT = 4
    COLLECTIVES = 5
    DEVICE_TO_DEVICE = 6
    OUTPUT = 7
    DEVICE_COMPUTE = 8

    @property
    def label(self) -> str:
        return self.name.lower().replace("_", " ")


#: What each part is, in a sentence.
WHAT = {
    Part.HOST_COMPUTE: "Ops and other work of the processor.",
    Part.COMPILATION: "Programs are compiled.",
    Part.KERNEL_LAUNCH: "The host hands work to the device.",
    Part.HOST_TO_DEVICE: "Data is copied to the device.",
    Part.INPUT: "The program waits for its next batch.",
    Part.COLLECTIVES: "Devices exchange what they computed.",
    Part.DEVICE_TO_DEVICE: "Data is copied or set within devices.",
    Part.OUTPUT: "Data is copied from the device.",
    Part.DEVICE_COMPUTE: "Kernels run on the device.",
}


class StepParts(NamedTuple):
    """One row a step, one column a part; in ps."""

    counted: Int64
    """Each instant once."""
    alone: Int64
    """Each part as if there were no other."""
    total: Int64
    """How long each step took."""

    @property
    def other(self) -> Int64:
        known: Int64 = self.counted.sum(axis=1)
        return self.total - known


def divide_steps(trace: Trace, steps: Steps, part: Int64, works: Bool) -> StepParts:
    """Divide steps by what `find_parts` and `find_work` give."""
    known = part >= 0
    start, end = trace.start_ps[known], trace.end_ps[known]
    counted = divide(start, end, part[known], steps.spans, len(Part))
    # What only waits counts where nothing else goes on, and is hidden behind nothing.
    part = np.where(works, part, -1)[known]
    alone = [cover(start[part == each], end[part == each], steps.spans) for each in Part]
    return StepParts(
        counted, np.maximum(np.column_stack(alone), counted), np.diff(steps.spans)[:, 0]
    )


def find_work(trace: Trace, part: Int64) -> Bool:
    """Of each event, whether somebody works in it, and does not only wait for others.

    What stands around ops on a host waits for as long as they run, wherever that is.
    """
    works = (part >= 0) & ~trace.find_names(lambda name: "Synchronize" in name)
    computes = (part == Part.HOST_COMPUTE) & ~trace.on_device
    # An op of TensorFlow or JAX has a colon in its name, and most events are none.
    named = trace.find_names(lambda name: ":" in name and find_op(name) is not None)
    ops = named | trace.find_categories("cpu_op")
    told = int((ops & computes).sum()) > _FEW_OPS * int(computes.sum())
    return works & (ops | ~computes) if told else works


def find_parts(trace: Trace) -> Int64:
    """Which part each event is; -1: it only stands around others, as a mark of a step does."""
    part = np.empty(len(trace), np.int64)
    for mine, say in ((~trace.on_device, _part_of), (trace.on_device, _part_of_device)):
        names, which = number(trace.name[mine])
        said = [
            -1 if _is_frame(name) else say(name) for name in map(trace.names.__getitem__, names)
        ]
        part[mine] = np.array(said, np.int64)[which]
    launches = _launches(trace) | trace.find_categories("cuda_runtime", "cuda_driver")
    part[launches & (part >= 0)] = Part.KERNEL_LAUNCH
    marks = trace.find_categories("gpu_user_annotation", "python_function", "overhead", "Trace")
    part[marks] = -1
    return part


def _launches(trace: Trace) -> Bool:
    """Of each event, whether it is a host's call that something on a device came of."""
    launches = np.zeros(len(trace), bool)
    if trace.on_device.any():
        events, _ = trace.find_numbers("correlation_id")
        launches[events] = True
        launches &= ~trace.on_device
    return launches


def _is_frame(name: str) -> bool:
    """Whether it is something around a step, or around all that a thread does."""
    return name.startswith(("Profiled batch", "ProfilerStep#", "train", "test", "$"))


def _part_of(name: str) -> int:
    lowered = name.lower()
    if lowered.startswith(("iteratorgetnext", "enumerate(data")):
        return Part.INPUT
    if lowered.startswith(("memcpyhtod", "memcpyh2d")):
        return Part.HOST_TO_DEVICE
    if "ompile" in name and _COMPILES.match(name):
        return Part.COMPILATION
    return Part.HOST_COMPUTE


def _part_of_device(name: str) -> int:
    lowered = name.lower().replace(" ", "").replace("to", "2")
    if lowered.startswith("nccl"):
        return Part.COLLECTIVES
    if not lowered.startswith("mem"):
        return Part.DEVICE_COMPUTE
    if "h2d" in lowered:
        return Part.HOST_TO_DEVICE
    return Part.OUTPUT if "d2h" in lowered else Part.DEVICE_TO_DEVICE
