"""Memory of a device while a step runs: what the way back needs is kept until it has come by."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from tracklight.demo.flowers_model import Kernel, list_weights
from tracklight.demo.xspace import Line, Told

_ALLOCATOR = "GPU_0_bfc"
_LIMIT_BYTES = 21_458_059_264
_FLOAT, _BFLOAT16 = 1, 14
#: What is allocated is a multiple of this.
_GRAIN_BYTES = 256
#: Adam keeps two more numbers for each that is learned.
_COPIES_OF_WEIGHTS = 3


class _Piece(NamedTuple):
    address: int
    requested: int
    allocated: int
    told: dict[str, Told]


class Memory:
    def __init__(self, line: Line) -> None:
        self._line = line
        weights = sum(map(prod, list_weights().values()))
        self._used = self._peak = _round_up(_COPIES_OF_WEIGHTS * 4 * weights)
        self._next = 0x7F_0000_0000
        self._kept: list[_Piece] = []

    def keep(self, kernel: Kernel, at_us: float) -> None:
        """Take memory for what a kernel makes; on its way back a step gives some back for it."""
        if "gradient_tape" in kernel.op and self._kept:
            self._give_back(self._kept.pop(), at_us)
        if not kernel.made:
            return
        requested = kernel.width * prod(kernel.made)
        told: dict[str, Told] = {
            "tf_op": f"{kernel.op}:{kernel.type}",
            "region_type": "output",
            "data_type": _BFLOAT16 if kernel.width == 2 else _FLOAT,
            "shape": f"[{','.join(map(str, kernel.made))}]",
        }
        piece = _Piece(self._next, requested, _round_up(requested), told)
        self._next += piece.allocated
        self._used += piece.allocated
        self._peak = max(self._peak, self._used)
        self._kept.append(piece)
        self._say("MemoryAllocation", piece, at_us)

    def forget(self, at_us: float) -> None:
        """Give back all that belongs to the step."""
        while self._kept:
            self._give_back(self._kept.pop(), at_us)

    def _give_back(self, piece: _Piece, at_us: float) -> None:
        self._used -= piece.allocated
        self._say("MemoryDeallocation", piece, at_us)

    def _say(self, name: str, piece: _Piece, at_us: float) -> None:
        sizes: dict[str, Told] = {
            "allocator_name": _ALLOCATOR,
            "bytes_reserved": 0,
            "bytes_allocated": self._used,
            "bytes_available": _LIMIT_BYTES - self._used,
            "fragmentation": 0.0,
            "peak_bytes_in_use": self._peak,
            "requested_bytes": piece.requested,
            "allocation_bytes": piece.allocated,
            "addr": piece.address,
        }
        self._line.add(name, at_us, 0, **sizes, **piece.told)


def _round_up(size: int) -> int:
    return -(-size // _GRAIN_BYTES) * _GRAIN_BYTES
