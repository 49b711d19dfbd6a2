"""Trace a function with one framework: ``trace_program.py FRAMEWORK LOGDIR``."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from typing import Any

from tracklight import summary
from tracklight.errors import UsageWarning


def make_tensorflow() -> Callable[[], Any]:
    import tensorflow as tf

    @tf.function
    def inner(x: Any) -> Any:
        return tf.nn.relu(x)

    @tf.function(jit_compile=True)
    def step(x: Any, y: Any) -> Any:
        with tf.name_scope("forward"):
            return inner(tf.matmul(x, y))

    return lambda: step(tf.ones((3, 4)), tf.ones((4, 5)))


def make_jax() -> Callable[[], Any]:
    import jax
    import jax.numpy as jnp

    @jax.jit
    def step(x: Any, y: Any) -> Any:
        with jax.named_scope("forward"):
            hidden = jax.nn.relu(x @ y)
        total, _ = jax.lax.scan(lambda carry, row: (carry + row.sum(), carry), 0.0, hidden)
        limit = jnp.max(y)
        return jax.lax.while_loop(lambda v: v < limit, lambda v: v + limit, total)

    return lambda: step(jnp.ones((3, 4)), jnp.ones((4, 5)))


def make_torch() -> Callable[[], Any]:
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.ReLU())
    return lambda: model(torch.ones(3, 4))


MAKERS = {"tensorflow": make_tensorflow, "jax": make_jax, "torch": make_torch}


def trace(framework: str, logdir: str) -> dict[str, Any]:
    call = MAKERS[framework]()
    call()  # functions compiled before the trace are included
    output: dict[str, Any] = {}
    with summary.create_file_writer(logdir) as writer, writer.as_default():
        output["on"] = summary.trace_on(graph=True, profiler=False)
        call()
        call()
        output["graph"] = summary.trace_export("graph", step=1)
        summary.trace_on(graph=True, profiler=True)
        call()
        output["profile"] = summary.trace_export("profile", step=2, profiler_outdir=logdir)
        summary.trace_on()
        call()
        summary.trace_off()
        call()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            output["none"] = summary.trace_export("none", step=3)
            summary.trace_on()
            output["empty"] = summary.trace_export("empty", step=4)
    output["warnings"] = [str(item.message) for item in caught if item.category is UsageWarning]
    output["lines"] = [item.filename for item in caught if item.category is UsageWarning]
    return output


if __name__ == "__main__":
    print(json.dumps(trace(*sys.argv[1:])))
