"""Images, figures, videos and embeddings in the form of ``torch.utils.tensorboard``.

Each value holds one image; batches are arranged in a grid, and videos are animated GIF files. An
embedding is a directory per step and tag, and an entry in the projector's config.
"""

from __future__ import annotations

import importlib
import io
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.formats import proto
from tracklight.formats.proto import Message
from tracklight.projector import (
    EmbeddingInfo,
    ProjectorConfig,
    SpriteMetadata,
    format_metadata,
    make_sprite,
)
from tracklight.projector import visualize_embeddings as write_config
from tracklight.writer import as_number, as_numbers, has_nan
from tracklight.writer.media import as_pixels
from tracklight.writer.warnings import ArgumentError, warn_or_raise

Pixels = NDArray[np.uint8]

_GRID_COLUMNS = 8

_TARGET_LAYOUTS = {2: "HW", 3: "HWC", 4: "NHWC"}

_BOX_COLOR = "Red"

_BOX_LINE_WIDTH_PX = 2


def build_image(tag: str, data: Any, dataformats: Any) -> Message:
    return _build_image_value(tag, _to_image_pixels(data, dataformats))


def build_image_with_boxes(
    tag: str, data: Any, boxes: Any, rescale: float, dataformats: Any, labels: Any
) -> Message:
    """Build an image with boxes [n, 4] (left, top, right, bottom) drawn on it."""
    corners = as_numbers(boxes, "box_tensor")
    if corners.ndim != 2 or corners.shape[1] != 4:
        raise ArgumentError("box_tensor", f"has shape {list(corners.shape)}; expected [n, 4]")
    names = [labels] if isinstance(labels, str) else labels
    if names is not None and len(names) != len(corners):
        warn_or_raise(
            "labels", f"has {len(names)} entries for {len(corners)} boxes; no labels were drawn"
        )
        names = None
    pixels = _draw_boxes(_to_image_pixels(data, dataformats), corners, names, rescale)
    return _build_image_value(tag, pixels)


def build_figure(tag: str, figure: Any, close: bool) -> Message:
    """Build an image of a Matplotlib figure, or a grid of figures of the same size."""
    if not isinstance(figure, list):
        return _build_image_value(tag, _render_figure(figure, close))
    frames = [_render_figure(item, close) for item in figure]
    if len({frame.shape for frame in frames}) != 1:
        raise ArgumentError(
            "figure", "must be figures of the same size; log others under separate tags"
        )
    return _build_image_value(tag, make_grid(np.stack(frames)))


def to_pixels(array: NDArray[Any]) -> Pixels:
    """Convert floats in [0, 1] to uint8, truncating as PyTorch does; integers are kept."""
    if array.dtype.kind != "f":
        return as_pixels(array)
    if has_nan(array):
        warn_or_raise("img_tensor", "contains NaN, which was replaced by 0")
        array = np.nan_to_num(array, nan=0.0)
    return (array.astype(np.float32) * 255).clip(0, 255).astype(np.uint8)


def make_grid(images: NDArray[Any], columns: int = _GRID_COLUMNS) -> NDArray[Any]:
    """Arrange images [n, height, width, channels] in a grid, row by row."""
    count, height, width, channels = images.shape
    columns = min(count, columns)
    rows = math.ceil(count / columns)
    cells = np.zeros((rows * columns, height, width, channels), images.dtype)
    cells[:count] = images
    grid = cells.reshape(rows, columns, height, width, channels).swapaxes(1, 2)
    return np.reshape(grid, (rows * height, columns * width, channels))


def encode_pil_png(pixels: Pixels) -> bytes:
    """Encode as PNG with Pillow, which yields the same bytes as PyTorch."""
    from PIL import Image

    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, format="PNG")
    return stream.getvalue()


def _to_image_pixels(data: Any, dataformats: Any) -> Pixels:
    array = as_numbers(data, "img_tensor")
    images = _to_channels_last(array, str(dataformats).upper())
    if not images.size:
        raise ArgumentError("img_tensor", f"is empty (shape {list(array.shape)})")
    if images.shape[-1] not in (1, 2, 3, 4):
        channels = f"has {images.shape[-1]} channels in shape {list(array.shape)}"
        raise ArgumentError("img_tensor", f"{channels} ({dataformats}); expected 1 to 4")
    if images.shape[-1] == 1:
        images = images.repeat(3, axis=-1)
    return to_pixels(images if images.ndim == 3 else make_grid(images))


def _to_channels_last(array: NDArray[Any], layout: str) -> NDArray[Any]:
    """Return the array as [height, width, channels] or [n, height, width, channels]."""
    target = _TARGET_LAYOUTS.get(len(layout), "")
    if sorted(layout) != sorted(target):
        raise ArgumentError(
            "dataformats", f"must be a permutation of NCHW, CHW or HW, not {layout!r}"
        )
    if array.ndim != len(layout):
        raise ArgumentError(
            "img_tensor", f"has shape {list(array.shape)}, but dataformats is {layout!r}"
        )
    ordered: NDArray[Any] = array.transpose([layout.index(letter) for letter in target])
    return ordered[..., None] if ordered.ndim == 2 else ordered


def _build_image_value(tag: str, pixels: Pixels) -> Message:
    height, width, channels = pixels.shape
    image = proto.Image(
        height=height,
        width=width,
        colorspace=channels,
        encoded_image_string=encode_pil_png(pixels),
    )
    return proto.Value(tag=tag.encode(), image=image)


def _draw_boxes(
    pixels: Pixels, boxes: NDArray[Any], labels: Sequence[str] | None, rescale: float
) -> Pixels:
    from PIL import Image, ImageDraw

    image = Image.fromarray(pixels)
    draw = ImageDraw.Draw(image)
    for index, box in enumerate(boxes.tolist()):
        _draw_box(draw, box, None if labels is None else labels[index])
    if rescale != 1:
        size = int(image.width * rescale), int(image.height * rescale)
        image = image.resize(size, Image.Resampling.LANCZOS)
    return np.asarray(image)


def _draw_box(draw: Any, box: Sequence[float], label: str | None) -> None:
    from PIL import ImageFont

    left, top, right, bottom = box
    outline = [(left, top), (left, bottom), (right, bottom), (right, top), (left, top)]
    draw.line(outline, width=_BOX_LINE_WIDTH_PX, fill=_BOX_COLOR)
    if label:
        font = ImageFont.load_default()
        text_left, text_top, text_right, text_bottom = font.getbbox(label)
        width, height = text_right - text_left, text_bottom - text_top
        margin = math.ceil(0.05 * height)
        background = [(left, bottom - height - 2 * margin), (left + width, bottom)]
        draw.rectangle(background, fill=_BOX_COLOR)
        draw.text((left + margin, bottom - height - margin), label, fill="black", font=font)


def _render_figure(figure: Any, close: bool) -> Pixels:
    if not hasattr(figure, "set_canvas"):
        raise ArgumentError("figure", f"must be a Matplotlib figure, not a {type(figure).__name__}")
    agg = importlib.import_module("matplotlib.backends.backend_agg")
    canvas_before = figure.canvas
    canvas = agg.FigureCanvasAgg(figure)
    canvas.draw()
    pixels: Pixels = np.asarray(canvas.buffer_rgba())[:, :, :3].copy()
    figure.set_canvas(canvas_before)
    if close and "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close(figure)
    return pixels


def build_video(tag: str, data: Any, fps: Any) -> Message:
    """Build an animated GIF of videos [n, time, channels, height, width], side by side."""
    array = as_numbers(data, "vid_tensor")
    if array.ndim != 5 or not array.size or array.shape[2] not in (1, 3, 4):
        shape = list(array.shape)
        raise ArgumentError(
            "vid_tensor", f"has shape {shape}; expected [n, time, channels, height, width]"
        )
    rate = as_number(fps, "fps")
    if not rate > 0:
        raise ArgumentError("fps", f"must be positive, not {rate:g}")
    frames = to_pixels(_tile_videos(array))
    _, height, width, channels = frames.shape
    image = proto.Image(
        height=height,
        width=width,
        colorspace=channels,
        encoded_image_string=_encode_gif(frames, rate),
    )
    return proto.Value(tag=tag.encode(), image=image)


def _tile_videos(videos: NDArray[Any]) -> NDArray[Any]:
    """Return one video [time, height, width, channels] with a grid of a power of two of cells."""
    count, time, channels, height, width = videos.shape
    cells = 1 << (count - 1).bit_length()
    rows = 1 << (count.bit_length() - 1) // 2
    padded = np.zeros((cells, *videos.shape[1:]), videos.dtype)
    padded[:count] = videos
    grid = padded.reshape(rows, cells // rows, time, channels, height, width)
    grid = grid.transpose(2, 0, 4, 1, 5, 3)
    return np.reshape(grid, (time, rows * height, cells // rows * width, channels))


def _encode_gif(frames: NDArray[np.uint8], fps: float) -> bytes:
    from PIL import Image

    images = [
        Image.fromarray(frame.squeeze(-1) if frame.shape[-1] == 1 else frame) for frame in frames
    ]
    stream = io.BytesIO()
    images[0].save(
        stream,
        format="GIF",
        save_all=True,
        append_images=images[1:],
        duration=1000 / fps,
        loop=0,
    )
    return stream.getvalue()


# ---- embeddings

_ESCAPES = str.maketrans({"%": "%25", "/": "%2f", "\\": "%5c"})


def add_embedding(
    logdir: str,
    config: ProjectorConfig,
    matrix: Any,
    metadata: Any,
    images: Any,
    step: int,
    tag: str,
    header: Sequence[str] | None,
) -> None:
    """Write the files of an embedding and add it to the config.

    Args:
        logdir: Directory of the run.
        config: The embeddings of the run so far; extended.
        matrix: Vectors [n, d].
        metadata: Labels, or rows of values for ``header``.
        images: Images [n, channels, height, width].
        step: Step of the embedding.
        tag: Name of the embedding.
        header: Names of the metadata columns.

    Raises:
        ArgumentError: An argument is invalid. Nothing is written then.
    """
    if "://" in logdir:
        raise ArgumentError("log_dir", f"must be a local directory for the projector, not {logdir}")
    subdirectory = f"{step:05d}/{tag.translate(_ESCAPES)}"
    files, info = _make_files(subdirectory, matrix, metadata, images, header)
    info.tensor_name = f"{tag}:{step:05d}"
    directory = Path(logdir, subdirectory)
    if directory.is_dir():
        warn_or_raise(
            "global_step", f"{step} was already logged for {tag!r}; the embedding was overwritten"
        )
    directory.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (directory / name).write_bytes(data)
    config.embeddings.append(info)
    write_config(logdir, config)


def _make_files(
    subdirectory: str, matrix: Any, metadata: Any, images: Any, header: Sequence[str] | None
) -> tuple[dict[str, bytes], EmbeddingInfo]:
    """Build all files before any is written, so that misuse leaves no partial files."""
    array = as_numbers(matrix, "mat")
    if array.ndim != 2:
        raise ArgumentError("mat", f"has shape {list(array.shape)}; expected [points, dimensions]")
    info = EmbeddingInfo(tensor_path=f"{subdirectory}/tensors.tsv")
    rows = ("\t".join(map(str, row)) + "\n" for row in array.tolist())
    files = {"tensors.tsv": "".join(rows).encode()}
    if metadata is not None:
        info.metadata_path = f"{subdirectory}/metadata.tsv"
        columns = _name_columns(metadata, header) if header else metadata
        files["metadata.tsv"] = format_metadata(columns, len(array)).encode()
    if images is not None:
        files["sprite.png"], size = _make_sprite(images, len(array))
        info.sprite = SpriteMetadata(f"{subdirectory}/sprite.png", list(size))
    return files, info


def _name_columns(metadata: Sequence[Sequence[Any]], header: Sequence[str]) -> dict[str, Any]:
    if any(len(row) != len(header) for row in metadata):
        raise ArgumentError(
            "metadata_header",
            f"has {len(header)} names, but some rows of metadata have a different length",
        )
    return dict(zip(header, zip(*metadata, strict=True), strict=True))


def _make_sprite(images: Any, count: int) -> tuple[bytes, tuple[int, int]]:
    array = as_numbers(images, "label_img")
    if array.ndim != 4 or len(array) != count:
        expected = f"expected [{count}, channels, height, width]"
        raise ArgumentError("label_img", f"has shape {list(array.shape)}; {expected}")
    pixels = to_pixels(array.transpose(0, 2, 3, 1))
    if pixels.shape[-1] == 1:
        pixels = pixels.repeat(3, axis=-1)
    sprite, size = make_sprite(pixels)
    return encode_pil_png(sprite), size
