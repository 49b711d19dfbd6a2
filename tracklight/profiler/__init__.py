"""Record profiles of a running program for the Profile dashboard.

    with tracklight.profile("logs/run", steps=10) as profiler:
        for batch in data:
            train(batch)
            profiler.step()

The framework's own profiler records the given number of steps. Programs without a framework are
profiled by sampling their call stacks. Meanwhile CPU, memory and GPU use are logged as scalars.

Start reading in `profile`, the public class. `python`, `sampler` and `stacks` are the sampling
profiler; `system_metrics` logs the scalars.
"""

from __future__ import annotations

from tracklight.profiler.recording import Profile as profile

__all__ = ["profile"]
