"""Images of a data set: one at a time, or as small images of all rows on tiles."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from tracklight.analysis.embeddings.sprites import MAX_TILES, SpriteTiles, draw_tile, plan_tiles
from tracklight.analysis.tables.columns import DataColumn
from tracklight.analysis.what_if.workspace import Workspace
from tracklight.dashboards.what_if.schemas import SaliencyRequest, SaliencyResponse
from tracklight.errors import UsageError
from tracklight.plugin import Blob
from tracklight.types import Float64

_MAX_IMAGE_PIXELS = 100_000_000
#: Side of a thumbnail if there are not too many for the tiles.
_THUMBNAIL_PX = 64
_CHANNELS = (1, 3, 4)
#: Drawn for rows whose image is missing or cannot be decoded.
_PLACEHOLDER_COLOR = (128, 128, 128, 255)


def make_image(
    workspace: Workspace, row: int, feature: str, max_px: int | None, step: int = 0
) -> Blob:
    """Return an image feature as PNG, scaled down if requested; of a list or sequence one step.

    Raises:
        UsageError: The feature is not an image, has no such step, or cannot be decoded.
    """
    workspace.table.check_row(row)
    image = _read_image(workspace.table.get_column(feature), row, max_px, step)
    out = io.BytesIO()
    # Always encoded again: what a log contains is not sent to browsers as an image unchecked.
    image.save(out, "PNG")
    return Blob(out.getvalue(), "image/png", immutable=True)


def make_saliency(workspace: Workspace, request: SaliencyRequest) -> SaliencyResponse:
    """Return the attributions of the pixels of an image; those of its channels are added up.

    Raises:
        UsageError: The feature is not an image, or the model returns no attributions of pixels.
        ModelError: The model failed.
    """
    column = workspace.table.get_column(request.feature)
    workspace.table.check_row(request.row)
    image = _read_image(column, request.row, None, request.step)
    values = workspace.attribute(request.row, request.feature, request.model)
    if values is not None and column.is_list:
        values = values[request.step] if request.step < len(values) else None
    pixels = None if values is None else _find_pixels(values, image.width, image.height)
    if pixels is None:
        raise UsageError(
            "what_if.no_saliency",
            'the model "{model}" returns no attributions of the pixels of "{feature}"',
            model=workspace.get_model(request.model).name,
            feature=request.feature,
        )
    height, width = pixels.shape
    return SaliencyResponse(width, height, pixels.astype(np.float32).reshape(-1))


def _find_pixels(values: Float64, width: int, height: int) -> Float64 | None:
    """Return attributions as rows of pixels, or None if they have another shape."""
    if values.ndim == 1 and values.size and values.size % (width * height) == 0:
        values = values.reshape(height, width, -1)
    if values.ndim == 3:
        # The axis of the channels is the last one, or with PyTorch the first.
        is_first = values.shape[0] in _CHANNELS and values.shape[-1] not in _CHANNELS
        values = values.sum(axis=0 if is_first else -1)
    return values if values.ndim == 2 and values.size else None


def plan_thumbnails(workspace: Workspace, feature: str, max_tiles: int = MAX_TILES) -> SpriteTiles:
    """Return the layout of the images of all rows that are not deleted.

    Args:
        workspace: The data.
        feature: The column of images.
        max_tiles: With more images than fit on so many tiles, each gets fewer pixels.

    Raises:
        UsageError: The feature is not an image.
    """
    if workspace.table.get_column(feature).type != "image":
        raise UsageError(
            "what_if.no_images", '"{feature}" is not a column of images', feature=feature
        )
    count = int(workspace.is_active.sum())
    return plan_tiles(_THUMBNAIL_PX, _THUMBNAIL_PX, count, max_tiles)


def make_thumbnail_tile(
    workspace: Workspace, feature: str, tile: int, max_tiles: int = MAX_TILES
) -> Blob:
    """Return one tile as PNG; rows without a readable image have a gray square."""
    from PIL import Image

    tiles = plan_thumbnails(workspace, feature, max_tiles)
    column = workspace.table.get_column(feature)
    rows = np.flatnonzero(workspace.is_active)
    side = tiles.cell_width

    def get_image(at: int) -> Any:
        try:
            return _fill(_read_image(column, int(rows[at]), side), side)
        except UsageError:
            return Image.new("RGBA", (max(1, side // 2), max(1, side // 2)), _PLACEHOLDER_COLOR)

    return draw_tile(tiles, tile, len(rows), get_image)


def _fill(image: Any, side: int) -> Any:
    """Enlarge a small image to the side of a cell; its pixels stay visible."""
    from PIL import Image

    scale = side / max(image.size)
    if scale <= 1:
        return image
    size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
    return image.resize(size, Image.Resampling.NEAREST)


def _read_image(column: DataColumn, row: int, max_px: int | None, step: int = 0) -> Any:
    value = column.get_value(row)
    if isinstance(value, list):
        value = value[step] if step < len(value) else None
    while isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, bytes):
        raise UsageError(
            "what_if.not_an_image",
            '"{feature}" of row {row} is not an image',
            feature=column.name,
            row=row,
        )
    from PIL import Image

    try:
        image = Image.open(io.BytesIO(value))
        if image.width * image.height > _MAX_IMAGE_PIXELS:
            raise UsageError(
                "what_if.image_too_large",
                "the image has {width} x {height} pixels, too many",
                width=image.width,
                height=image.height,
            )
        if max_px is not None:
            image.thumbnail((max_px, max_px))
        return image.convert("RGBA" if "A" in image.getbands() else "RGB")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise UsageError(
            "what_if.unreadable_image",
            '"{feature}" of row {row} is not a readable image: {error}',
            feature=column.name,
            row=row,
            error=error,
        ) from None
