"""Profile four steps with a framework or without one: ``profile_program.py FRAMEWORK LOGDIR``.

Prints how the loop continued afterwards.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

import tracklight

SKIP, STEPS, LOOPS = 1, 4, 7
LOAD_S = 0.03


def main(framework: str, logdir: str) -> None:
    step = {"torch": step_torch, "jax": step_jax, "tensorflow": step_tensorflow}[framework]()
    recording = []
    with tracklight.profile(logdir, steps=STEPS, skip=SKIP, first_step=10, strict=True) as profiler:
        for _ in range(LOOPS):
            recording.append(profiler.is_recording)
            time.sleep(LOAD_S)
            step()
            profiler.step()
    print(json.dumps(recording))


def step_torch() -> Callable[[], object]:
    import torch

    weights = torch.ones(256, 256)
    return lambda: (weights @ weights).sum().item()


def step_jax() -> Callable[[], object]:
    import jax
    import jax.numpy as jnp

    weights = jnp.ones((256, 256))
    work = jax.jit(lambda weights: (weights @ weights).sum())
    return lambda: float(work(weights))


def step_tensorflow() -> Callable[[], object]:
    import tensorflow as tf

    weights = tf.ones((256, 256))
    work = tf.function(lambda: tf.reduce_sum(weights @ weights))
    return lambda: float(work())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
