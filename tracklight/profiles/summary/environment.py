"""Where a program ran: what its capture says of it, its devices and its threads."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone

from tracklight.profiles.devices import Device
from tracklight.profiles.findings.advice import Framework
from tracklight.profiles.trace import Trace

_FRAMEWORKS: dict[Framework, str] = {
    "tensorflow": "TensorFlow",
    "torch": "PyTorch",
    "jax": "JAX",
    "python": "Python, sampled",
    "chrome": "a trace in Chrome's form",
}


def iter_facts(trace: Trace, framework: Framework) -> Iterator[tuple[str, str]]:
    """What is known of where a program ran, names and values."""
    yield "Written by", _FRAMEWORKS[framework]
    if trace.began_ns:
        began = datetime.fromtimestamp(trace.began_ns / 1e9, timezone.utc)
        yield "Began", began.strftime("%Y-%m-%d %H:%M:%S UTC")
    yield from _iter_devices(trace.devices)
    streams = sum(track.is_device for track in trace.tracks)
    yield "Threads of the host", f"{len(trace.tracks) - streams}"
    if streams:
        yield "Queues of devices", f"{streams}"
    _, budgets = trace.find_numbers("cpu_budget")
    if len(budgets):
        yield "Cores that tf.data plans with", f"{int(budgets.max())}"
    yield from trace.environment


def _iter_devices(devices: tuple[Device, ...]) -> Iterator[tuple[str, str]]:
    for device in dict.fromkeys(device for device in devices if device.name):
        count = devices.count(device)
        yield "Device", device.name if count == 1 else f"{count} of {device.name}"
        if device.memory_bytes:
            yield "Memory of the device", f"{device.memory_bytes / 2**30:.1f} GiB"
        if device.multiprocessors:
            yield "Multiprocessors", f"{device.multiprocessors}"
        if any(device.capability):
            yield "Compute capability", ".".join(map(str, device.capability))
