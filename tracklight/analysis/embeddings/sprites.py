"""Images of points: texture tiles for a GPU, and single images cut out of a sprite sheet."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec
import numpy as np

from tracklight.analysis.source import Blob
from tracklight.errors import FormatError, UsageError
from tracklight.types import Float32
from tracklight.util.memory import LruCache

if TYPE_CHECKING:  # What-If draws tiles without loading the readers of embeddings
    from tracklight.analysis.embeddings import LoadedEmbedding, SpriteSheet

_TILE_SIDE_PX = 2048
#: Larger images are scaled down on tiles.
_MAX_CELL_PX = 64
#: Limits the texture memory; with more images, each gets fewer pixels.
MAX_TILES = 24
_MAX_CACHE_BYTES = 512 << 20
_IDLE_S = 60.0
#: A decoded sheet takes four bytes per pixel.
_MAX_PIXELS = 1 << 30
#: Images are compared at this size.
_COMPARED_PX = 8


class SpriteTiles(msgspec.Struct):
    """How images are laid out on tiles. Each tile holds ``per_tile`` of them, row by row."""

    cell_width: int
    cell_height: int
    tiles: int
    tile_columns: int
    tile_rows: int
    per_tile: int


class SpriteCutter:
    """Cuts images out of sprite sheets. The last decoded sheet is cached for a minute."""

    def __init__(self) -> None:
        self._sheets: LruCache[str, Any] = LruCache(
            max_bytes=_MAX_CACHE_BYTES, idle_s=_IDLE_S, keep_oversized=True
        )

    def cut_tile(self, mark: str, embedding: LoadedEmbedding, tile: int) -> Blob:
        """Return one tile as PNG.

        Args:
            mark: Identifies the content of the sprite sheet, for the cache.
            embedding: The embedding with the sprite sheet.
            tile: Number of the tile; see `plan_tiles`.
        """
        from PIL import Image

        sprite = _get_sprite(embedding)
        tiles = plan_tiles(sprite.cell_width, sprite.cell_height, embedding.row_count)

        def get_cell(row: int) -> Any:
            cell = _crop(self._get_sheet(mark, embedding), sprite, row)
            if cell.size == (tiles.cell_width, tiles.cell_height):
                return cell
            return cell.resize((tiles.cell_width, tiles.cell_height), Image.Resampling.BOX)

        return draw_tile(tiles, tile, embedding.row_count, get_cell)

    def cut_cell(self, mark: str, embedding: LoadedEmbedding, row: int) -> Blob:
        """Return the image of one point as PNG, in its original size."""
        if row >= embedding.row_count:
            raise UsageError(
                "projector.no_point",
                "there is no point {row}; there are {row_count} points",
                row=row,
                row_count=embedding.row_count,
            )
        sprite = _get_sprite(embedding)
        return _encode(_crop(self._get_sheet(mark, embedding), sprite, row))

    def search_similar(self, mark: str, embedding: LoadedEmbedding, image: bytes) -> int:
        """Return the point whose image is most like another one, by their colors at low resolution.

        Raises:
            UsageError: The points have no images.
            FormatError: The image cannot be decoded.
        """
        from PIL import Image

        sprite = _get_sprite(embedding)
        sheet = self._get_sheet(mark, embedding)
        side, lines = _COMPARED_PX, -(-embedding.row_count // sprite.columns)
        used = sheet.crop((0, 0, sprite.columns * sprite.cell_width, lines * sprite.cell_height))
        small = used.resize((sprite.columns * side, lines * side), Image.Resampling.BOX)
        cells = _to_pixels(small).reshape(lines, side, sprite.columns, side, 3)
        vectors = cells.transpose(0, 2, 1, 3, 4).reshape(-1, side * side * 3)
        pixels = _decode_image(io.BytesIO(image), is_sheet=False).resize(
            (side, side), Image.Resampling.BOX
        )
        differences = vectors[: embedding.row_count] - _to_pixels(pixels).reshape(-1)
        return int(np.einsum("ij,ij->i", differences, differences).argmin())

    def _get_sheet(self, mark: str, embedding: LoadedEmbedding) -> Any:
        return self._sheets.get_or_build(
            mark, lambda: _decode(embedding), lambda sheet: 4 * sheet.width * sheet.height
        )


def plan_tiles(width: int, height: int, count: int, max_tiles: int = MAX_TILES) -> SpriteTiles:
    """Return the layout with the largest cells that fits ``count`` images on the tiles.

    Args:
        width: Width of the images in pixels.
        height: Their height.
        count: Their number.
        max_tiles: Maximum number of tiles.
    """
    for max_side in range(_MAX_CELL_PX, 1, -1):
        scale = min(max_side / max(width, height), 1)
        tiles = _plan_grid(count, max(round(width * scale), 1), max(round(height * scale), 1))
        if tiles.tiles <= max_tiles:
            return tiles
    return _plan_grid(count, 1, 1)


def draw_tile(tiles: SpriteTiles, tile: int, count: int, get_image: Callable[[int], Any]) -> Blob:
    """Return one tile as PNG.

    Args:
        tiles: The layout.
        tile: Number of the tile.
        count: Number of images on all tiles.
        get_image: Returns an image of at most the size of a cell; smaller ones are centered.

    Raises:
        UsageError: There is no such tile.
    """
    from PIL import Image

    if tile >= tiles.tiles:
        raise UsageError(
            "embeddings.no_tile",
            "there is no tile {tile}; the images have {tiles} tiles",
            tile=tile,
            tiles=tiles.tiles,
        )
    first = tile * tiles.per_tile
    used = min(tiles.per_tile, count - first)
    rows = -(-used // tiles.tile_columns)
    sheet = Image.new("RGBA", (tiles.tile_columns * tiles.cell_width, rows * tiles.cell_height))
    for index in range(used):
        image = get_image(first + index)
        row, column = divmod(index, tiles.tile_columns)
        left = column * tiles.cell_width + (tiles.cell_width - image.width) // 2
        top = row * tiles.cell_height + (tiles.cell_height - image.height) // 2
        sheet.paste(image, (left, top))
    return _encode(sheet)


def _plan_grid(count: int, width: int, height: int) -> SpriteTiles:
    columns, rows = min(_TILE_SIDE_PX // width, max(count, 1)), _TILE_SIDE_PX // height
    per_tile = columns * rows
    return SpriteTiles(width, height, -(-count // per_tile), columns, rows, per_tile)


def _get_sprite(embedding: LoadedEmbedding) -> SpriteSheet:
    if embedding.sprite is None:
        raise UsageError("embeddings.no_images", "these points have no images")
    if embedding.sprite.width * embedding.sprite.height > _MAX_PIXELS:
        raise FormatError(
            "embeddings.sprite_too_large",
            "sprite images over {limit_mpx} megapixels are not read",
            limit_mpx=_MAX_PIXELS >> 20,
        )
    return embedding.sprite


def _to_pixels(image: Any) -> Float32:
    """Return the colors of an image on a white background."""
    rgba: Float32 = np.asarray(image, np.float32) / np.float32(255)
    alpha = rgba[..., 3:]
    colors: Float32 = rgba[..., :3] * alpha + (1 - alpha)
    return colors


def _decode(embedding: LoadedEmbedding) -> Any:
    with embedding.open_sprite() as file:
        return _decode_image(file)


def _decode_image(file: BinaryIO, *, is_sheet: bool = True) -> Any:
    from PIL import Image

    try:
        with warnings.catch_warnings():
            # `_get_sprite` has checked the size of a sheet; Pillow's limit is lower.
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(file) as image:
                return image.convert("RGBA")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        if not is_sheet:
            raise FormatError(
                "embeddings.image_undecodable",
                "the file is not an image that can be decoded; use PNG, JPEG, WebP or GIF",
            ) from None
        raise FormatError(
            "embeddings.sprite_undecodable",
            "the sprite image cannot be decoded: {error}",
            error=error,
        ) from None


def _crop(sheet: Any, sprite: SpriteSheet, index: int) -> Any:
    row, column = divmod(index, sprite.columns)
    left, top = column * sprite.cell_width, row * sprite.cell_height
    return sheet.crop((left, top, left + sprite.cell_width, top + sprite.cell_height))


def _encode(image: Any) -> Blob:
    file = io.BytesIO()
    image.save(file, "png", compress_level=3)
    return Blob(file.getvalue(), "image/png", immutable=True)
