"""Where a program ran: what its capture says of versions, devices and threads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from typing import Any

from tracklight.profiles.advice import Framework
from tracklight.profiles.devices import Device
from tracklight.profiles.trace import Trace

_FRAMEWORKS: dict[Framework, str] = {
    "tensorflow": "TensorFlow",
    "torch": "PyTorch",
    "jax": "JAX",
    "python": "Python, sampled",
    "chrome": "a trace in Chrome's form",
}
#: What profilers call versions, and whether they are numbers of the form 13020 for 13.2.
_VERSIONS = {
    "jax_version": ("JAX", False),
    "jaxlib_version": ("jaxlib", False),
    "cuda_driver_version": ("CUDA driver", True),
    "cuda_runtime_version": ("CUDA runtime", True),
    "cupti_version": ("CUPTI", False),
}
_DISTRIBUTED = {"backend": "Exchange", "rank": "Rank", "world_size": "Processes"}


def read_versions(said: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The versions among what a profiler says, in our order."""
    return tuple(
        (name, _format(said[key], is_packed))
        for key, (name, is_packed) in _VERSIONS.items()
        if said.get(key) not in (None, "", 0)
    )


def read_head_facts(head: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The same of what stands before the events of PyTorch's traces."""
    given = head.get("distributedInfo")
    shared = given if isinstance(given, dict) else {}
    facts = ((name, str(shared[key])) for key, name in _DISTRIBUTED.items() if key in shared)
    return (*read_versions(head), *facts)


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


def _format(version: Any, is_packed: bool) -> str:
    text = str(version)
    if is_packed and text.isdigit():
        return f"{int(text) // 1000}.{int(text) % 1000 // 10}"
    return text
