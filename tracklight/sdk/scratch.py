"""Copies of arrays in memory that is used again.

Memory that is fresh from the system costs more, page by page, than what is copied into it.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Below this, Python keeps memory for itself; above, it would be too much to hold on to.
_SIZES = range(64 << 10, 4 << 20)

#: Enough for a model's layers, one after the other, faster than they are counted.
_MOST_SPARE_BYTES = 16 << 20

_spare: deque[NDArray[np.uint8]] = deque()


def take_copy(array: NDArray[Any]) -> NDArray[Any]:
    """A copy, in one piece, that is to be given back."""
    if array.nbytes not in _SIZES:
        return np.array(array)
    copy = _find_memory(array.nbytes)[: array.nbytes].view(array.dtype).reshape(array.shape)
    np.copyto(copy, array)
    return copy


def give_back(copy: NDArray[Any]) -> None:
    """Say that a copy will not be looked at any more."""
    memory = copy.base
    if isinstance(memory, np.ndarray):
        kept_bytes = sum(spare.nbytes for spare in _spare.copy())
        if kept_bytes + memory.nbytes <= _MOST_SPARE_BYTES:
            _spare.append(memory)


def _find_memory(size_bytes: int) -> NDArray[np.uint8]:
    for _ in range(len(_spare)):
        try:
            memory = _spare.popleft()
        except IndexError:  # another thread was faster
            break
        if size_bytes <= memory.nbytes <= 2 * size_bytes:
            return memory
        _spare.append(memory)
    return np.empty(size_bytes, np.uint8)
