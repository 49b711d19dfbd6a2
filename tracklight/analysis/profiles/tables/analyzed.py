"""A trace and what is derived from it: programs, ops, steps, kernels and costs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any, TypeVar, cast

from tracklight.analysis.profiles.kernels import KernelStats, list_kernels
from tracklight.analysis.profiles.ops import EventOps, Op, OpStats, assign_ops, compute_op_stats
from tracklight.analysis.profiles.roofline.costs import Cost, compute_op_costs
from tracklight.analysis.profiles.roofline.rates import (
    RooflinePoint,
    Utilization,
    compute_roofline_points,
    compute_utilization,
)
from tracklight.analysis.profiles.steps import StepAnalysis, StepRules, Steps, analyze_steps
from tracklight.analysis.profiles.trace import Framework, Trace, detect_framework
from tracklight.analysis.profiles.xla_programs import (
    InstructionMap,
    XlaProgram,
    list_programs,
    map_instructions,
)
from tracklight.analysis.profiles.xprof import compute_xprof_op_stats

#: If more values are derived from a trace (by choosing many step markers), the oldest are dropped.
_MAX_DERIVED = 64

T = TypeVar("T")


class AnalyzedTrace:
    """A trace, and what was derived from it.

    May be used from any thread. Derived values are computed by one thread at a time.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._derived: dict[Hashable, Any] = {}
        self._lock = threading.RLock()

    @property
    def framework(self) -> Framework:
        return self.get_or_compute("framework", lambda: detect_framework(self.trace))

    @property
    def programs(self) -> list[XlaProgram]:
        return self.get_or_compute("programs", lambda: list_programs(self.trace))

    @property
    def instructions(self) -> InstructionMap:
        return self.get_or_compute(
            "instructions", lambda: map_instructions(self.trace, self.programs)
        )

    @property
    def event_ops(self) -> EventOps:
        return self.get_or_compute("event_ops", lambda: assign_ops(self.trace, self.instructions))

    def get_op_stats(self, rules: StepRules = "ours") -> OpStats:
        if rules == "xprof" and not self.trace.on_device.any():
            return self.get_or_compute("xprof_ops", lambda: compute_xprof_op_stats(self.trace))
        return self.get_or_compute("ops", lambda: compute_op_stats(self.trace, self.event_ops))

    def analyze_steps(self, marker: str = "", rules: StepRules = "ours") -> StepAnalysis:
        return self.get_or_compute(
            ("analyze_steps", marker, rules), lambda: analyze_steps(self.trace, marker, rules)
        )

    def get_steps(self, marker: str = "") -> Steps:
        return self.analyze_steps(marker).steps

    def get_or_compute(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return a derived value, computed at most once per key while it is cached."""
        with self._lock:
            if key not in self._derived:
                self._derived[key] = compute()
                while len(self._derived) > _MAX_DERIVED:
                    del self._derived[next(iter(self._derived))]
            return cast(T, self._derived[key])

    @property
    def kernels(self) -> list[KernelStats]:
        return self.get_or_compute(
            "kernels", lambda: list_kernels(self.trace, self.event_ops, self.instructions)
        )

    @property
    def op_costs(self) -> dict[Op, Cost]:
        """Mean FLOPs and bytes of a call of each op of which they are known."""
        return self.get_or_compute(
            "op_costs", lambda: compute_op_costs(self.trace, self.event_ops, self.instructions)
        )

    @property
    def roofline_points(self) -> list[RooflinePoint]:
        return self.get_or_compute(
            "roofline_points", lambda: compute_roofline_points(self.get_op_stats(), self.op_costs)
        )

    @property
    def utilization(self) -> Utilization | None:
        """The rates that devices achieved; None if no cost of a device op is known."""
        return self.get_or_compute(
            "utilization",
            lambda: compute_utilization(
                self.trace,
                self.event_ops,
                self.instructions,
                self.get_op_stats(),
                self.roofline_points,
            ),
        )
