"""What profilers say of versions, and of a program's place among others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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


def _format(version: Any, is_packed: bool) -> str:
    text = str(version)
    if is_packed and text.isdigit():
        return f"{int(text) // 1000}.{int(text) % 1000 // 10}"
    return text
