"""Where the tiles of a picture are, at every size in which it is looked at."""

from __future__ import annotations

from tracklight.errors import UsageError

TILE_PIXELS = 512


def count_levels(size: tuple[int, int]) -> int:
    """How many sizes there are: each has half of the one before, and the last fits into a tile."""
    level = 0
    while max(size) > TILE_PIXELS:
        size = halve(size)
        level += 1
    return level + 1


def halve(size: tuple[int, int]) -> tuple[int, int]:
    return -(-size[0] // 2), -(-size[1] // 2)


def find_tile(size: tuple[int, int], level: int, x: int, y: int) -> tuple[int, int, int, int]:
    """Left, top, right and bottom of a tile in a picture of which the whole has that size."""
    levels = count_levels(size)
    if level >= levels:
        raise UsageError(f"this picture has {levels} levels, so there is no level {level}")
    for _ in range(level):
        size = halve(size)
    left, top = x * TILE_PIXELS, y * TILE_PIXELS
    if left >= size[0] or top >= size[1]:
        raise UsageError(f"level {level} is {size[0]:,} x {size[1]:,}, without a tile {x}, {y}")
    return left, top, min(left + TILE_PIXELS, size[0]), min(top + TILE_PIXELS, size[1])
