from __future__ import annotations

import pytest

from tracklight.analysis.embeddings.sprites import plan_tiles


@pytest.mark.parametrize(
    ("count", "cell", "expected"),
    [
        (60, (28, 28), (28, 28)),
        (60, (200, 100), (64, 32)),
        (100_000, (28, 28), (28, 28)),
        (1_000_000, (28, 28), (9, 9)),
        (1_000_000, (64, 16), (20, 5)),
        (3, (1, 5000), (1, 64)),
    ],
)
def test_plans_the_largest_cells_that_fit(
    count: int, cell: tuple[int, int], expected: tuple[int, int]
) -> None:
    tiles = plan_tiles(*cell, count)
    assert (tiles.cell_width, tiles.cell_height) == expected
    assert tiles.tiles <= 24
    assert tiles.tiles * tiles.per_tile >= count > (tiles.tiles - 1) * tiles.per_tile
    assert tiles.tile_columns * tiles.cell_width <= 2048
    assert tiles.tile_rows * tiles.cell_height <= 2048
