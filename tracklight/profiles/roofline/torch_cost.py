"""How many operations an op of PyTorch takes and how many bytes it moves, by what it was given."""

from __future__ import annotations

import json
from functools import lru_cache
from math import prod
from typing import Any

from tracklight.profiles.program.cost import Cost

_BYTES = {
    "float": 4, "double": 8, "int": 4, "long int": 8, "bool": 1, "unsigned char": 1,
    "signed char": 1, "short": 2, "c10::Half": 2, "c10::BFloat16": 2, "c10::Float8_e4m3fn": 1,
    "c10::Float8_e5m2": 1,
}  # fmt: skip
_ADDED = {"aten::addmm", "aten::baddbmm"}
_PRODUCTS = {"aten::mm", "aten::bmm", "aten::matmul", "aten::_scaled_mm", *_ADDED}
_CONVOLUTIONS = {
    "aten::cudnn_convolution", "aten::mkldnn_convolution", "aten::_convolution",
    "aten::convolution_overrideable", "aten::miopen_convolution", "aten::convolution",
}  # fmt: skip
_BACKWARD = {"aten::convolution_backward"}
#: Of these, nothing is computed.
_MOVES = {"aten::copy_", "aten::cat", "aten::clone", "aten::fill_", "aten::zero_"}


@lru_cache(maxsize=65_536)
def find_torch_cost(op: str, dimensions: str, types: str) -> Cost | None:
    """The cost of one call; None where nothing is known of it.

    What comes out is not recorded: of a product it follows from what went in, of anything else it
    is taken to be as large as the largest of that.
    """
    try:
        shapes = [shape for shape in json.loads(dimensions) if _is_shape(shape)]
        sizes = [_BYTES.get(kind, 4) for kind in json.loads(types)]
    except (ValueError, TypeError, RecursionError):
        return None
    if not shapes or not sizes:
        return None
    out, flops = _find_output(op, shapes)
    moved = sum(prod(shape) * size for shape, size in zip(shapes, sizes, strict=False))
    return Cost(flops, float(moved + out * sizes[0]))


def _is_shape(shape: Any) -> bool:
    return isinstance(shape, list) and bool(shape) and all(isinstance(size, int) for size in shape)


def _find_output(op: str, shapes: list[list[int]]) -> tuple[int, float]:
    """How many numbers come out, and how many operations that takes."""
    given = shapes[1:] if op in _ADDED else shapes
    if op in _PRODUCTS and len(given) >= 2:
        return _multiply(*given[:2])
    if op in _CONVOLUTIONS and len(shapes) >= 2:
        return _convolve(*shapes[:2])
    if op in _BACKWARD and len(shapes) >= 3:
        # Once for what went in and once for the weights.
        out, kernel = shapes[0], shapes[2]
        return prod(shapes[1]), 4.0 * prod(out) * prod(kernel[1:])
    largest = max(map(prod, shapes))
    return largest, 0.0 if op in _MOVES else float(largest)


def _multiply(one: list[int], other: list[int]) -> tuple[int, float]:
    out = prod(one[:-1]) * other[-1]
    return out, 2.0 * out * one[-1]


def _convolve(given: list[int], kernel: list[int]) -> tuple[int, float]:
    """As if nothing were cut off at the edges, which is what most convolutions are padded for."""
    out = given[0] * kernel[0] * prod(given[2:])
    return out, 2.0 * out * prod(kernel[1:])
