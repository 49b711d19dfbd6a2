"""Pictures of points, cut out of their sheet: tiles that any graphics card takes, or one alone."""

from __future__ import annotations

import io
import warnings
from typing import Any

import msgspec

from tracklight.analysis.embeddings.loading import LoadedEmbedding, SpriteSheet
from tracklight.errors import FormatError, UsageError
from tracklight.plugin import Blob
from tracklight.util.lru_cache import LruCache

_TILE_SIDE_PX = 2048

#: Larger pictures are made smaller on tiles, where many are seen at once.
_MAX_CELL_PX = 64

#: What a graphics card has room for; of more pictures each gets fewer pixels.
_MAX_TILES = 24

_MAX_CACHE_BYTES = 512 << 20

_IDLE_S = 60.0

#: A sheet of that many pixels takes a few gigabytes; nobody has made a larger one.
_MAX_PIXELS = 1 << 30


def plan_tiles(sprite: SpriteSheet, count: int) -> SpriteTiles:
    """How the pictures of ``count`` points are spread over tiles, as large as they may be."""
    for largest in range(_MAX_CELL_PX, 1, -1):
        laid = _plan_grid(count, *_shrink(sprite, largest))
        if laid.tiles <= _MAX_TILES:
            return laid
    return _plan_grid(count, 1, 1)


def _plan_grid(count: int, width: int, height: int) -> SpriteTiles:
    columns, rows = min(_TILE_SIDE_PX // width, count), _TILE_SIDE_PX // height
    per_tile = columns * rows
    return SpriteTiles(width, height, -(-count // per_tile), columns, rows, per_tile)


def _shrink(sprite: SpriteSheet, largest: int) -> tuple[int, int]:
    scale = min(largest / max(sprite.cell_width, sprite.cell_height), 1)
    return max(round(sprite.cell_width * scale), 1), max(round(sprite.cell_height * scale), 1)


class SpriteCutter:
    """Cuts pictures out; the sheet that was looked at last stays decoded for a minute."""

    def __init__(self) -> None:
        self._sheets: LruCache[str, Any] = LruCache(
            max_bytes=_MAX_CACHE_BYTES, idle_s=_IDLE_S, keep_oversized=True
        )

    def cut_tile(self, mark: str, embedding: LoadedEmbedding, tile: int) -> Blob:
        from PIL import Image

        sprite = _get_sprite(embedding)
        laid = plan_tiles(sprite, embedding.row_count)
        if tile >= laid.tiles:
            raise UsageError(f"there are {laid.tiles} tiles of pictures, and none is {tile}")
        sheet = self._get_sheet(mark, embedding)
        begin = tile * laid.per_tile
        some = min(laid.per_tile, embedding.row_count - begin)
        rows = -(-some // laid.tile_columns)
        out = Image.new("RGBA", (laid.tile_columns * laid.cell_width, rows * laid.cell_height))
        for place in range(some):
            cell = _cut(sheet, sprite, begin + place)
            if cell.size != (laid.cell_width, laid.cell_height):
                cell = cell.resize((laid.cell_width, laid.cell_height), Image.Resampling.BOX)
            down, right = divmod(place, laid.tile_columns)
            out.paste(cell, (right * laid.cell_width, down * laid.cell_height))
        return _encode(out)

    def cut_cell(self, mark: str, embedding: LoadedEmbedding, row: int) -> Blob:
        if row >= embedding.row_count:
            raise UsageError(f"there is no point {row} among {embedding.row_count}")
        sprite = _get_sprite(embedding)
        return _encode(_cut(self._get_sheet(mark, embedding), sprite, row))

    def _get_sheet(self, mark: str, opened: LoadedEmbedding) -> Any:
        return self._sheets.get_or_build(
            mark, lambda: _decode(opened), lambda sheet: 4 * sheet.width * sheet.height
        )


def _get_sprite(opened: LoadedEmbedding) -> SpriteSheet:
    if opened.sprite is None:
        raise UsageError("these points have no pictures")
    if opened.sprite.width * opened.sprite.height > _MAX_PIXELS:
        raise FormatError(f"a sprite of more than {_MAX_PIXELS >> 20} million pixels")
    return opened.sprite


def _decode(opened: LoadedEmbedding) -> Any:
    from PIL import Image

    try:
        with warnings.catch_warnings(), opened.open_sprite() as file:
            # How large it is was looked at before; Pillow's own limits are meant for strangers'.
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(file) as picture:
                return picture.convert("RGBA")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise FormatError(f"the sprite cannot be decoded: {error}") from None


def _cut(sheet: Any, sprite: SpriteSheet, row: int) -> Any:
    down, right = divmod(row, sprite.columns)
    left, top = right * sprite.cell_width, down * sprite.cell_height
    return sheet.crop((left, top, left + sprite.cell_width, top + sprite.cell_height))


def _encode(picture: Any) -> Blob:
    file = io.BytesIO()
    picture.save(file, "png", compress_level=3)
    return Blob(file.getvalue(), "image/png", immutable=True)


class SpriteTiles(msgspec.Struct):
    """How pictures are laid out on tiles, each of which holds ``per_tile`` of them by rows."""

    cell_width: int
    cell_height: int
    tiles: int
    tile_columns: int
    tile_rows: int
    per_tile: int
