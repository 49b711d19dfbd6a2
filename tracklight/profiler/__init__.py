"""Record profiles and graphs of a running program.

    with tracklight.profile("logs/run", steps=10) as profiler:
        for batch in data:
            train(batch)
            profiler.step()

`profilers.Profile` is the class behind `tracklight.profile`. It drives the profiler of the
framework in use or, in programs without a framework, samples call stacks. Meanwhile, CPU, memory
and GPU use are logged as scalars (`process`, which also collects what `tracklight.run` records).
`tracing` implements ``summary.trace_on`` and ``trace_export``, for which it collects the functions
that a framework runs.

May import `tracklight.writer`, `tracklight.formats` and, to read the graph of a PyTorch module,
`tracklight.torch`. Frameworks are never imported, only used if the program has loaded them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracklight.profiler.profilers import Profile as profile

__all__ = ["profile"]


def __getattr__(name: str) -> object:
    # `tracklight.summary` imports this package; it does not need the profilers.
    if name != "profile":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tracklight.profiler.profilers import Profile

    return Profile
