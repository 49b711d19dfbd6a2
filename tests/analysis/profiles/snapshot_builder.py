"""A caching allocator that records what PyTorch's does, for snapshots of known content.

The structure is that of `torch.cuda.memory._snapshot()` as PyTorch documents it. The allocator
itself is far simpler: it takes the first free block, and splits it.
"""

from __future__ import annotations

import pickle
from typing import Any

SEGMENT_BYTES = 1 << 20
_ROUNDING = 512

MODEL = "/home/me/train.py"
SITE = "/usr/lib/python3.12/site-packages/torch"

WEIGHTS = [
    ("convert", f"{SITE}/nn/modules/module.py", 1340),
    ("_apply", f"{SITE}/nn/modules/module.py", 930),
    ("cuda", f"{SITE}/nn/modules/module.py", 1100),
    ("<module>", MODEL, 10),
]
ACTIVATIONS = [
    ("at::native::addmm", "??", 0),
    ("forward", f"{SITE}/nn/modules/linear.py", 134),
    ("_call_impl", f"{SITE}/nn/modules/module.py", 1780),
    ("<module>", MODEL, 20),
]
GRADIENTS = [
    ("at::native::mm", "??", 0),
    ("torch::autograd::generated::AddmmBackward0::apply", "??", 0),
    ("torch::autograd::Engine::evaluate_function", "??", 0),
]
OPTIMIZER = [
    ("_init_group", f"{SITE}/optim/adamw.py", 60),
    ("step", f"{SITE}/optim/adamw.py", 220),
    ("<module>", MODEL, 30),
]
WORKSPACE = [
    ("at::cuda::getCUDABlasLtWorkspace", "??", 0),
    ("torch::autograd::Engine::evaluate_function", "??", 0),
]
OTHER = [("load", "/home/me/data.py", 7), ("<module>", MODEL, 15)]
STACKS = {
    "weights": WEIGHTS,
    "gradients": GRADIENTS,
    "optimizer": OPTIMIZER,
    "activations": ACTIVATIONS,
    "workspace": WORKSPACE,
    "other": OTHER,
    "unknown": [],
}


class CachingAllocator:
    """Allocates, frees and records on one device."""

    def __init__(self, max_calls: int = 1 << 30) -> None:
        self.live: dict[int, tuple[int, str]] = {}
        """Requested size and category of what is in use, by address."""
        self.segments: list[dict[str, Any]] = []
        self.trace: list[dict[str, Any]] = []
        self.history: list[dict[str, int]] = [self._sum()]
        """Bytes by category before the first call, and after each one."""
        self.reserved = [0]
        self._max_calls = max_calls
        self._frames = {name: make_frames(stack) for name, stack in STACKS.items()}

    def allocate(self, size: int, category: str) -> int:
        rounded = -(-size // _ROUNDING) * _ROUNDING
        block = self._find_free(rounded) or self._add_segment(rounded)
        self._split(block, rounded)
        block.update(state="active_allocated", requested_size=size, frames=self._frames[category])
        self.live[block["address"]] = size, category
        self._record("alloc", block["address"], size, category)
        return int(block["address"])

    def free(self, address: int) -> None:
        size, category = self.live[address]
        self._record("free_requested", address, size, "other")
        del self.live[address]
        for segment in self.segments:
            for block in segment["blocks"]:
                if block["address"] == address:
                    block.update(state="inactive", requested_size=0, frames=[])
            self._merge(segment)
        self._record("free_completed", address, size, category)

    def make_snapshot(self) -> dict[str, Any]:
        kept = self.trace[-self._max_calls :]
        return {
            "segments": self.segments,
            "device_traces": [kept],
            "allocator_settings": {"max_split_size": -1, "expandable_segments": False},
        }

    def dump(self) -> bytes:
        return pickle.dumps(self.make_snapshot())

    def _sum(self) -> dict[str, int]:
        sums: dict[str, int] = {}
        for size, category in self.live.values():
            sums[category] = sums.get(category, 0) + size
        return sums

    def _record(self, action: str, address: int, size: int, category: str) -> None:
        self.trace.append(
            {
                "action": action,
                "addr": address,
                "size": size,
                "stream": 0,
                "time_us": 1_790_000_000_000_000 + 100 * len(self.trace),
                "frames": self._frames[category],
            }
        )
        self.history.append(self._sum())
        self.reserved.append(sum(segment["total_size"] for segment in self.segments))

    def _find_free(self, size: int) -> dict[str, Any] | None:
        blocks = (block for segment in self.segments for block in segment["blocks"])
        fits = (it for it in blocks if it["state"] == "inactive" and it["size"] >= size)
        return next(fits, None)

    def _add_segment(self, size: int) -> dict[str, Any]:
        total = -(-size // SEGMENT_BYTES) * SEGMENT_BYTES
        address = (len(self.segments) + 1) << 32
        block = {"address": address, "size": total, "state": "inactive", "frames": []}
        self.segments.append(
            {
                "device": 0,
                "address": address,
                "total_size": total,
                "stream": 0,
                "segment_type": "large",
                "segment_pool_id": (0, 0),
                "is_expandable": False,
                "blocks": [block],
            }
        )
        self._record("segment_alloc", address, total, "unknown")
        return block

    def _split(self, block: dict[str, Any], size: int) -> None:
        rest = block["size"] - size
        if not rest:
            return
        block["size"] = size
        blocks = next(it["blocks"] for it in self.segments if block in it["blocks"])
        free = {"address": block["address"] + size, "size": rest, "state": "inactive", "frames": []}
        blocks.insert(blocks.index(block) + 1, free)

    def _merge(self, segment: dict[str, Any]) -> None:
        merged: list[dict[str, Any]] = []
        for block in segment["blocks"]:
            if merged and merged[-1]["state"] == block["state"] == "inactive":
                merged[-1]["size"] += block["size"]
            else:
                merged.append(block)
        segment["blocks"] = merged


def make_frames(stack: list[tuple[str, str, int]]) -> list[dict[str, Any]]:
    return [{"name": name, "filename": file, "line": line} for name, file, line in stack]
