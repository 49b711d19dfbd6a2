from __future__ import annotations

import pytest

from tracklight.analysis.embeddings.loading import SpriteSheet
from tracklight.analysis.embeddings.sprites import plan_tiles


def make_sprite(width: int, height: int) -> SpriteSheet:
    return SpriteSheet(1000 * width, 1000 * height, width, height, 1000)


@pytest.mark.parametrize(
    ("count", "cell", "laid"),
    [
        (60, (28, 28), (28, 28)),
        (60, (200, 100), (64, 32)),
        (100_000, (28, 28), (28, 28)),
        (1_000_000, (28, 28), (9, 9)),
        (1_000_000, (64, 16), (20, 5)),
        (3, (1, 5000), (1, 64)),
    ],
)
def test_pictures_are_as_large_as_the_tiles_of_a_card_let_them_be(
    count: int, cell: tuple[int, int], laid: tuple[int, int]
) -> None:
    row = plan_tiles(make_sprite(*cell), count)
    assert (row.cell_width, row.cell_height) == laid
    assert row.tiles <= 24
    assert row.tiles * row.per_tile >= count > (row.tiles - 1) * row.per_tile
    assert row.tile_columns * row.cell_width <= 2048
    assert row.tile_rows * row.cell_height <= 2048
