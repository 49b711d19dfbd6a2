"""Captures what a program does, step by step, for the Profile dashboard.

    with tracklight.profile("logs/run", steps=10) as profiler:
        for batch in data:
            train(batch)
            profiler.step()

The profiler of the framework that the program uses is switched on for so many steps; a program that
uses none is sampled. Meanwhile what the machine and its GPUs are busy with is logged as scalars.
"""

from __future__ import annotations

from tracklight.capture.profile import Profile as profile

__all__ = ["profile"]
