"""What profilers say of versions, and of a program's place among others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tracklight.analysis.profiles.trace import Device

#: What profilers call versions, and whether they are numbers of the form 13020 for 13.2.
_VERSION_KEYS = {
    "jax_version": ("JAX", False),
    "jaxlib_version": ("jaxlib", False),
    "cuda_driver_version": ("CUDA driver", True),
    "cuda_runtime_version": ("CUDA runtime", True),
    "cupti_version": ("CUPTI", False),
}

_DISTRIBUTED_KEYS = {"backend": "Exchange", "rank": "Rank", "world_size": "Processes"}


def parse_versions(stats: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The versions among what a profiler says, in our order."""
    return tuple(
        (name, _format_version(stats[key], is_packed))
        for key, (name, is_packed) in _VERSION_KEYS.items()
        if stats.get(key) not in (None, "", 0)
    )


def parse_chrome_environment(header: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The same of what stands before the events of PyTorch's traces."""
    given = header.get("distributedInfo")
    shared = given if isinstance(given, dict) else {}
    facts = ((name, str(shared[key])) for key, name in _DISTRIBUTED_KEYS.items() if key in shared)
    return (*parse_versions(header), *facts)


def _format_version(version: Any, is_packed: bool) -> str:
    text = str(version)
    if is_packed and text.isdigit():
        return f"{int(text) // 1000}.{int(text) % 1000 // 10}"
    return text


def parse_xplane_device(stats: Mapping[str, float | str]) -> Device:
    """A device of which TensorFlow or JAX say this."""
    return Device(
        name=str(stats.get("gpu_device_name") or stats.get("device_type_string") or ""),
        multiprocessors=int(_parse_number(stats.get("core_count"))),
        clock_hz=_parse_number(stats.get("clock_rate")) * 1e3,
        memory_bytes_per_s=_parse_number(stats.get("memory_bandwidth")),
        memory_bytes=int(_parse_number(stats.get("memory_size"))),
        compute_capability=(
            int(_parse_number(stats.get("compute_cap_major"))),
            int(_parse_number(stats.get("compute_cap_minor"))),
        ),
    )


def parse_kineto_devices(properties: object) -> tuple[Device, ...]:
    """The devices that PyTorch lists, whether or not anything ran on them."""
    listed: Iterable[Any] = properties if isinstance(properties, list) else ()
    return tuple(
        Device(
            name=str(each.get("name", "")),
            multiprocessors=int(_parse_number(each.get("numSms"))),
            memory_bytes=int(_parse_number(each.get("totalGlobalMem"))),
            compute_capability=(
                int(_parse_number(each.get("computeMajor"))),
                int(_parse_number(each.get("computeMinor"))),
            ),
        )
        for each in listed
        if isinstance(each, dict)
    )


def _parse_number(value: object) -> float:
    """What profilers write as text in one version and as a number in the next."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return 0.0
    return number if 0 <= number < 1e20 else 0.0
