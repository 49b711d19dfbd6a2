"""Videos as animated GIF files, which readers show as pictures."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.formats import proto
from tracklight.formats.proto import Message
from tracklight.sdk.arrays import as_number, as_numbers
from tracklight.sdk.lenient import Misuse
from tracklight.torch.pictures import to_pixels

_MILLIS = 1000


def build_video(tag: str, data: Any, fps: Any) -> Message:
    """Videos [n, time, channels, height, width], all of them side by side."""
    array = as_numbers(data, "vid_tensor")
    if array.ndim != 5 or not array.size or array.shape[2] not in (1, 3, 4):
        shape = list(array.shape)
        raise Misuse("vid_tensor", f"has shape {shape}; give [n, time, channels, height, width]")
    rate = as_number(fps, "fps")
    if not rate > 0:
        raise Misuse("fps", f"must be above 0, not {rate:g}")
    frames = to_pixels(_arrange(array))
    _, height, width, channels = frames.shape
    image = proto.Image(
        height=height,
        width=width,
        colorspace=channels,
        encoded_image_string=_encode_gif(frames, rate),
    )
    return proto.Value(tag=tag.encode(), image=image)


def _arrange(videos: NDArray[Any]) -> NDArray[Any]:
    """One video [time, height, width, channels], as many cells as the next power of two."""
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
        duration=_MILLIS / fps,
        loop=0,
    )
    return stream.getvalue()
