"""What is known of the devices that a capture was taken of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple


class Device(NamedTuple):
    """0 where a profiler does not say."""

    name: str = ""
    multiprocessors: int = 0
    clock_hz: float = 0.0
    bytes_per_s: float = 0.0
    """How fast its memory is."""
    memory_bytes: int = 0
    capability: tuple[int, int] = (0, 0)
    """The version of what it can compute, as its maker counts."""


def read_plane_device(said: Mapping[str, float | str]) -> Device:
    """A device of which TensorFlow or JAX say this."""
    return Device(
        name=str(said.get("gpu_device_name") or said.get("device_type_string") or ""),
        multiprocessors=int(_number(said.get("core_count"))),
        clock_hz=_number(said.get("clock_rate")) * 1e3,
        bytes_per_s=_number(said.get("memory_bandwidth")),
        memory_bytes=int(_number(said.get("memory_size"))),
        capability=(
            int(_number(said.get("compute_cap_major"))),
            int(_number(said.get("compute_cap_minor"))),
        ),
    )


def read_kineto_devices(properties: object) -> tuple[Device, ...]:
    """The devices that PyTorch lists, whether or not anything ran on them."""
    listed: Iterable[Any] = properties if isinstance(properties, list) else ()
    return tuple(
        Device(
            name=str(each.get("name", "")),
            multiprocessors=int(_number(each.get("numSms"))),
            memory_bytes=int(_number(each.get("totalGlobalMem"))),
            capability=(
                int(_number(each.get("computeMajor"))),
                int(_number(each.get("computeMinor"))),
            ),
        )
        for each in listed
        if isinstance(each, dict)
    )


def _number(value: object) -> float:
    """What profilers write as text in one version and as a number in the next."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return 0.0
    return number if 0 <= number < 1e20 else 0.0
