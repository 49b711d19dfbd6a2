"""Pictures of points, cut out of their sheet: tiles that any graphics card takes, or one alone."""

from __future__ import annotations

import io
import warnings
from typing import Any

from tracklight.dashboards.projector.answers import SpriteRow
from tracklight.dashboards.projector.opened import Opened
from tracklight.embeddings.sprite import Sprite
from tracklight.errors import FormatError, UsageError
from tracklight.plugin import Blob
from tracklight.util.lru_cache import LruCache

_TILE_SIDE = 2048
#: Larger pictures are made smaller on tiles, where many are seen at once.
_LARGEST_CELL = 64
#: What a graphics card has room for; of more pictures each gets fewer pixels.
_MOST_TILES = 24
_SHEET_BYTES = 512 << 20
_IDLE_S = 60.0
#: A sheet of that many pixels takes a few gigabytes; nobody has made a larger one.
_MOST_PIXELS = 1 << 30


def lay_tiles(sprite: Sprite, count: int) -> SpriteRow:
    """How the pictures of ``count`` points are spread over tiles, as large as they may be."""
    for largest in range(_LARGEST_CELL, 1, -1):
        laid = _lay(count, *_shrink(sprite, largest))
        if laid.tiles <= _MOST_TILES:
            return laid
    return _lay(count, 1, 1)


def _lay(count: int, width: int, height: int) -> SpriteRow:
    columns, rows = min(_TILE_SIDE // width, count), _TILE_SIDE // height
    per_tile = columns * rows
    return SpriteRow(width, height, -(-count // per_tile), columns, rows, per_tile)


def _shrink(sprite: Sprite, largest: int) -> tuple[int, int]:
    scale = min(largest / max(sprite.cell_width, sprite.cell_height), 1)
    return max(round(sprite.cell_width * scale), 1), max(round(sprite.cell_height * scale), 1)


class Sprites:
    """Cuts pictures out; the sheet that was looked at last stays decoded for a minute."""

    def __init__(self) -> None:
        self._sheets: LruCache[str, Any] = LruCache(
            max_bytes=_SHEET_BYTES, idle_s=_IDLE_S, keep_oversized=True
        )

    def cut_tile(self, mark: str, opened: Opened, tile: int) -> Blob:
        from PIL import Image

        sprite = _get_sprite(opened)
        laid = lay_tiles(sprite, opened.rows)
        if tile >= laid.tiles:
            raise UsageError(f"there are {laid.tiles} tiles of pictures, and none is {tile}")
        sheet = self._open(mark, opened)
        begin = tile * laid.per_tile
        some = min(laid.per_tile, opened.rows - begin)
        rows = -(-some // laid.tile_columns)
        out = Image.new("RGBA", (laid.tile_columns * laid.cell_width, rows * laid.cell_height))
        for place in range(some):
            cell = _cut(sheet, sprite, begin + place)
            if cell.size != (laid.cell_width, laid.cell_height):
                cell = cell.resize((laid.cell_width, laid.cell_height), Image.Resampling.BOX)
            down, right = divmod(place, laid.tile_columns)
            out.paste(cell, (right * laid.cell_width, down * laid.cell_height))
        return _encode(out)

    def cut_one(self, mark: str, opened: Opened, row: int) -> Blob:
        if row >= opened.rows:
            raise UsageError(f"there is no point {row} among {opened.rows}")
        sprite = _get_sprite(opened)
        return _encode(_cut(self._open(mark, opened), sprite, row))

    def _open(self, mark: str, opened: Opened) -> Any:
        return self._sheets.get_or_build(
            mark, lambda: _decode(opened), lambda sheet: 4 * sheet.width * sheet.height
        )


def _get_sprite(opened: Opened) -> Sprite:
    if opened.sprite is None:
        raise UsageError("these points have no pictures")
    if opened.sprite.width * opened.sprite.height > _MOST_PIXELS:
        raise FormatError(f"a sprite of more than {_MOST_PIXELS >> 20} million pixels")
    return opened.sprite


def _decode(opened: Opened) -> Any:
    from PIL import Image

    try:
        with warnings.catch_warnings(), opened.open_sprite() as file:
            # How large it is was looked at before; Pillow's own limits are meant for strangers'.
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(file) as picture:
                return picture.convert("RGBA")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise FormatError(f"the sprite cannot be decoded: {error}") from None


def _cut(sheet: Any, sprite: Sprite, row: int) -> Any:
    down, right = divmod(row, sprite.columns)
    left, top = right * sprite.cell_width, down * sprite.cell_height
    return sheet.crop((left, top, left + sprite.cell_width, top + sprite.cell_height))


def _encode(picture: Any) -> Blob:
    file = io.BytesIO()
    picture.save(file, "png", compress_level=3)
    return Blob(file.getvalue(), "image/png", immutable=True)
