"""Parse device properties and software versions from profiler metadata.

Profilers write the same number as text in one version and as a number in the next, so values of any
type are accepted and invalid ones are treated as missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tracklight.analysis.profiles.trace import Device
from tracklight.errors import Message

#: Metadata keys, their labels, and whether the version is packed as 13020 for 13.2.
_VERSION_KEYS: dict[str, tuple[str | Message, bool]] = {
    "jax_version": ("JAX", False),
    "jaxlib_version": ("jaxlib", False),
    "cuda_driver_version": (Message("profile.fact_cuda_driver", "CUDA driver"), True),
    "cuda_runtime_version": (Message("profile.fact_cuda_runtime", "CUDA runtime"), True),
    "cupti_version": ("CUPTI", False),
}
_DISTRIBUTED_KEYS = {
    "backend": Message("profile.fact_backend", "Distributed backend"),
    "rank": Message("profile.fact_rank", "Rank"),
    "world_size": Message("profile.fact_world_size", "World size"),
}


def parse_xplane_device(stats: Mapping[str, float | str]) -> Device:
    """Return the device that the stats of an XPlane describe."""
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
    """Return the devices in the ``deviceProperties`` of a PyTorch trace, used or not."""
    entries: Iterable[Any] = properties if isinstance(properties, list) else ()
    return tuple(
        Device(
            name=str(entry.get("name", "")),
            multiprocessors=int(_parse_number(entry.get("numSms"))),
            memory_bytes=int(_parse_number(entry.get("totalGlobalMem"))),
            compute_capability=(
                int(_parse_number(entry.get("computeMajor"))),
                int(_parse_number(entry.get("computeMinor"))),
            ),
        )
        for entry in entries
        if isinstance(entry, dict)
    )


def parse_versions(stats: Mapping[str, Any]) -> tuple[tuple[str | Message, str], ...]:
    """Return labels and versions of the software that a profiler recorded."""
    return tuple(
        (label, _format_version(stats[key], is_packed))
        for key, (label, is_packed) in _VERSION_KEYS.items()
        if stats.get(key) not in (None, "", 0)
    )


def parse_chrome_environment(header: Mapping[str, Any]) -> tuple[tuple[str | Message, str], ...]:
    """Return versions and distributed settings from the header of a PyTorch trace."""
    info = header.get("distributedInfo")
    distributed = info if isinstance(info, dict) else {}
    facts = (
        (label, str(distributed[key]))
        for key, label in _DISTRIBUTED_KEYS.items()
        if key in distributed
    )
    return (*parse_versions(header), *facts)


def parse_rank(header: Mapping[str, Any]) -> int | None:
    """Return the rank in the header of a PyTorch trace; None if the program is not distributed."""
    info = header.get("distributedInfo")
    rank = info.get("rank") if isinstance(info, dict) else None
    return rank if isinstance(rank, int) and rank >= 0 else None


def _format_version(version: Any, is_packed: bool) -> str:
    text = str(version)
    if is_packed and text.isdigit():
        return f"{int(text) // 1000}.{int(text) % 1000 // 10}"
    return text


def _parse_number(value: object) -> float:
    """Return a number or the number in a text; 0 if it is neither or out of range."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return 0.0
    return number if 0 <= number < 1e20 else 0.0
