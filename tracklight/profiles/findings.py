"""What to change, by how many milliseconds of a step it could win at most.

Each finding says what was measured, from which threshold on it is told, and what to do about it in
the framework that wrote the capture.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from tracklight.profiles.parts import Part
from tracklight.profiles.precision import Precision

Framework = Literal["tensorflow", "torch", "jax"]

#: Shares of a step below which nothing is said.
INPUT_SHARE = 0.05
LAUNCH_SHARE = 0.15
COPY_SHARE = 0.05
COMPILE_SHARE = 0.05
OTHER_SHARE = 0.15
#: Less than this of what a device computes in 16 bits is worth a word, if it computes that long.
SHORT_SHARE = 0.1
DEVICE_SHARE = 0.1
#: What products of matrices gain from 16 bits on most devices, at the least.
_SPEED_UP = 2

_ADVICE: dict[str, dict[Framework, str]] = {
    "input": {
        "tensorflow": "end the tf.data pipeline with prefetch(AUTOTUNE), give its map calls "
        "num_parallel_calls=AUTOTUNE, and cache() what does not change",
        "torch": "give the DataLoader more num_workers, pin_memory=True and "
        "persistent_workers=True",
        "jax": "load the next batch in a thread while this one is computed, and put it on the "
        "device ahead of time with jax.device_put",
    },
    "kernel launch": {
        "tensorflow": "give compile() steps_per_execution, or jit_compile=True to fuse small ops",
        "torch": "use torch.compile, or CUDA graphs for a step that never changes its shapes",
        "jax": "put the whole step under one jax.jit",
    },
    "precision": {
        "tensorflow": 'call keras.mixed_precision.set_global_policy("mixed_bfloat16")',
        "torch": 'run the forward pass under torch.autocast("cuda", torch.bfloat16)',
        "jax": "keep weights for the step and activations in jnp.bfloat16",
    },
    "copies": {
        "tensorflow": "prefetch to the device (tf.data.experimental.prefetch_to_device)",
        "torch": "copy with non_blocking=True from pinned memory, on a stream of its own",
        "jax": "call jax.device_put for the next batch before this step is waited for",
    },
    "compilation": {
        "tensorflow": "call a tf.function with tensors of one shape and no Python numbers, so that "
        "it is traced once",
        "torch": "keep shapes as they are, or mark what changes with torch.compile(dynamic=True)",
        "jax": "keep shapes as they are and pass what changes as arrays, not as static arguments",
    },
    "other": dict.fromkeys(
        ("tensorflow", "torch", "jax"),
        "look at what Python does between the ops: logging, printing, waiting for values",
    ),
}


class Finding(msgspec.Struct):
    name: str
    what: str
    threshold: str
    advice: str
    win_ms: float
    """What a step could win if all of it went away."""


class Measured(msgspec.Struct):
    """What findings are made from; milliseconds of an average step."""

    step_ms: float
    parts_ms: dict[str, float]
    other_ms: float
    precision: Precision
    framework: Framework


def find(measured: Measured) -> list[Finding]:
    """The findings, those that could win most first."""
    found = (finding for finding in _iter_findings(measured) if finding.win_ms > 0)
    return sorted(found, key=lambda finding: -finding.win_ms)


def _iter_findings(it: Measured) -> Iterator[Finding]:
    yield from _check(it, "input", [Part.INPUT], INPUT_SHARE, "waits for its input")
    yield from _check(it, "kernel launch", [Part.KERNEL_LAUNCH], LAUNCH_SHARE, "launches kernels")
    copies = [Part.HOST_TO_DEVICE, Part.OUTPUT]
    yield from _check(it, "copies", copies, COPY_SHARE, "copies to or from the device, unhidden")
    yield from _check(it, "compilation", [Part.COMPILATION], COMPILE_SHARE, "compiles")
    if it.step_ms and it.other_ms / it.step_ms >= OTHER_SHARE:
        yield _make(it, "other", it.other_ms, OTHER_SHARE, "does nothing that was recorded")
    yield from _check_precision(it)


def _check(
    it: Measured, name: str, parts: list[Part], least: float, does: str
) -> Iterator[Finding]:
    took = sum(it.parts_ms.get(part.label, 0.0) for part in parts)
    if it.step_ms and took / it.step_ms >= least:
        yield _make(it, name, took, least, does)


def _make(it: Measured, name: str, took_ms: float, least: float, does: str) -> Finding:
    share = 100 * took_ms / it.step_ms
    what = f"{share:.0f} % of a step ({took_ms:.3g} ms) {does}"
    return Finding(name, what, f"from {least:.0%} on", _ADVICE[name][it.framework], took_ms)


def _check_precision(it: Measured) -> Iterator[Finding]:
    share, device = it.precision.short_share, it.parts_ms.get(Part.DEVICE_COMPUTE.label, 0.0)
    if share is None or share >= SHORT_SHARE or device < DEVICE_SHARE * it.step_ms:
        return
    what = f"{share:.0%} of what the device computes is in 16 bits ({device:.3g} ms a step)"
    threshold = f"below {SHORT_SHARE:.0%}, where the device computes {DEVICE_SHARE:.0%} of a step"
    win = device * (1 - 1 / _SPEED_UP)
    yield Finding("precision", what, threshold, _ADVICE["precision"][it.framework], win)
