"""Log embeddings for the projector.

    tracklight.projector.embeddings("logs/run1", vectors, metadata=labels, images=images)

No checkpoint is needed, and the sprite image is made from the images. `ProjectorConfig` and
`visualize_embeddings` are for programs that write the files themselves, as with TensorBoard.

`tracklight.torch` and `tracklight.keras` use the functions that format vectors, metadata and
sprites.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from tracklight.errors import UsageError
from tracklight.writer import as_numbers, warnings
from tracklight.writer.event_writer import EventWriter
from tracklight.writer.media import as_pixels, encode_images, encode_pixels
from tracklight.writer.values import build_text
from tracklight.writer.warnings import ArgumentError

__all__ = [
    "EmbeddingInfo",
    "ProjectorConfig",
    "SpriteMetadata",
    "embeddings",
    "visualize_embeddings",
]

CONFIG_NAME = "projector_config.pbtxt"
#: A texture size that all browsers support.
MAX_SPRITE_SIDE_PX = 8192

#: Enough digits to restore every float32.
_FLOAT_FORMAT = "%.9g"
#: Readers skip empty lines, which would shift all labels after them.
_EMPTY_LABEL = "(empty)"
_EMBEDDING_BLOCK = re.compile(r"^embeddings \{\n.*?^\}\n", re.MULTILINE | re.DOTALL)

T = TypeVar("T")


class _MessageList(list[T], Generic[T]):
    """A list with an `add` method like that of repeated protobuf fields."""

    def __init__(self, item_type: type[T]) -> None:
        super().__init__()
        self._item_type = item_type

    def add(self, **fields: Any) -> T:
        item = self._item_type(**fields)
        self.append(item)
        return item


@dataclass
class SpriteMetadata:
    """A sprite image, and the width and height of each image in it."""

    image_path: str = ""
    single_image_dim: list[int] = field(default_factory=list)


@dataclass
class EmbeddingInfo:
    """A tensor in a checkpoint or in a file. Paths are relative to the directory of the run."""

    tensor_name: str = ""
    metadata_path: str = ""
    bookmarks_path: str = ""
    tensor_shape: list[int] = field(default_factory=list)
    sprite: SpriteMetadata = field(default_factory=SpriteMetadata)
    tensor_path: str = ""


@dataclass
class ProjectorConfig:
    """The embeddings of a run; ``config.embeddings.add()`` creates an entry."""

    model_checkpoint_path: str = ""
    embeddings: _MessageList[EmbeddingInfo] = field(
        default_factory=lambda: _MessageList(EmbeddingInfo)
    )
    model_checkpoint_dir: str = ""


def visualize_embeddings(logdir: Any, config: Any) -> None:
    """Write the projector configuration of a run.

    Args:
        logdir: Directory of the run, or a writer.
        config: A `ProjectorConfig` or TensorBoard's message of that name.

    Raises:
        UsageError: ``config`` is of another type, or ``logdir`` is a URL.

    Example:
        >>> config = tracklight.projector.ProjectorConfig()
        >>> config.embeddings.add(tensor_name="words", tensor_path="words.tsv")
        >>> tracklight.projector.visualize_embeddings("logs/run1", config)
    """
    run_dir = _get_run_dir(logdir)
    if isinstance(config, ProjectorConfig):
        text = _format_fields(config)
    elif hasattr(config, "DESCRIPTOR"):
        from google.protobuf import text_format

        text = text_format.MessageToString(config)
    else:
        raise UsageError(f"`config` must be a ProjectorConfig, not a {type(config).__name__}")
    run_dir.mkdir(parents=True, exist_ok=True)
    (run_dir / CONFIG_NAME).write_text(text, encoding="utf-8")


def embeddings(
    logdir: Any,
    vectors: Any,
    metadata: Any = None,
    *,
    sprite: Any = None,
    images: Any = None,
    name: str = "embedding",
    strict: bool | None = None,
) -> bool:
    """Log vectors for the projector.

    Args:
        logdir: Directory of the run, or a writer.
        vectors: An array [n, d].
        metadata: Labels of the vectors: a list, a dict of columns, or a data frame.
        sprite: A sprite image with one image per vector: a path or the bytes of a file.
        images: An array [n, height, width, channels] with one image per vector.
        name: Name of the embedding. Logging the same name again replaces it.
        strict: Raise exceptions on misuse instead of warning; by default TRACKLIGHT_STRICT decides.

    Returns:
        Whether the embedding was written.

    Raises:
        UsageError: An argument is invalid, and ``strict`` is set. Otherwise a warning is issued.

    Example:
        >>> vectors = np.random.normal(size=(100, 8))
        >>> tracklight.projector.embeddings("logs/run1", vectors, metadata=range(100))
        True
    """
    strict = warnings.is_strict() if strict is None else strict
    with warnings.catch_errors(f"projector.embeddings({name!r:.100})", strict=strict):
        run_dir = _get_run_dir(logdir)
        info = _write_files(run_dir, name, vectors, metadata, sprite, images)
        _add_to_config(run_dir, info)
        _ensure_event_file(run_dir, info)
        return True
    return False


def format_vectors(vectors: NDArray[Any]) -> str:
    """Return an array [n, d] as tab-separated values."""
    return "".join(
        "\t".join(_FLOAT_FORMAT % number for number in row) + "\n" for row in vectors.tolist()
    )


def format_metadata(metadata: Any, count: int) -> str:
    """Return labels as tab-separated values: one unnamed column, or several with a header.

    Args:
        metadata: A list of labels, a dict of columns, a list of dicts, or a data frame.
        count: Number of vectors.

    Raises:
        ArgumentError: The number of labels differs from ``count``.
    """
    columns = _as_columns(metadata)
    for name, cells in columns.items():
        if len(cells) != count:
            raise ArgumentError(
                "metadata", f'has {len(cells)} rows in "{name}" for {count} vectors'
            )
    rows: list[Iterable[object]] = list(zip(*columns.values(), strict=True))
    if len(columns) > 1:
        rows.insert(0, list(columns))
    return "".join("\t".join(map(_as_cell, row)) + "\n" for row in rows)


def make_sprite(images: object) -> tuple[NDArray[np.uint8], tuple[int, int]]:
    """Arrange images [n, height, width, channels] in a square grid, row by row.

    Images that would make the sprite too large are downsampled by omitting rows and columns.

    Returns:
        The pixels of the sprite, and the width and height of an image in it.
    """
    pixels = _as_image_batch(images)
    side = math.ceil(math.sqrt(len(pixels)))
    stride = math.ceil(side * max(pixels.shape[1:3]) / MAX_SPRITE_SIDE_PX)
    pixels = pixels[:, ::stride, ::stride]
    count, height, width, channels = pixels.shape
    cells = np.zeros((side * side, height, width, channels), np.uint8)
    cells[:count] = pixels
    rows = cells.reshape(side, side, height, width, channels).swapaxes(1, 2)
    return rows.reshape(side * height, side * width, channels), (width, height)


def compute_cell_size(width: int, height: int, count: int) -> tuple[int, int]:
    """Return width and height of each of ``count`` images in a sprite of the given size.

    Raises:
        ArgumentError: The size of the sprite is not a multiple of the grid size.
    """
    side = math.ceil(math.sqrt(count))
    if not count or width % side or height % side:
        raise ArgumentError(
            "sprite", f"is {width} x {height} pixels, not a multiple of its {side} x {side} grid"
        )
    return width // side, height // side


def _as_columns(metadata: Any) -> dict[str, Sequence[object]]:
    if hasattr(metadata, "columns") and hasattr(metadata, "to_dict"):
        return {str(name): metadata[name].tolist() for name in metadata.columns}
    if isinstance(metadata, Mapping):
        return {str(name): list(cells) for name, cells in metadata.items()}
    if isinstance(metadata, (str, bytes)):
        raise ArgumentError(
            "metadata", "must be a list of labels or a dict of columns, not a string"
        )
    items = np.asarray(metadata).tolist() if hasattr(metadata, "dtype") else list(metadata)
    if items and all(isinstance(item, Mapping) for item in items):
        names = dict.fromkeys(name for item in items for name in item)
        return {str(name): [item.get(name, "") for item in items] for name in names}
    return {"label": items}


def _as_cell(value: object) -> str:
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return re.sub(r"\s+", " ", text).strip() or _EMPTY_LABEL


def _as_image_batch(images: object) -> NDArray[np.uint8]:
    array: NDArray[Any] = as_numbers(images, "images")
    array = array[..., None] if array.ndim == 3 else array
    if array.ndim != 4 or array.shape[-1] not in (1, 3, 4) or not array.size:
        raise ArgumentError(
            "images", f"has shape {list(array.shape)}; expected [n, height, width, channels]"
        )
    return as_pixels(array)


def _write_files(
    run_dir: Path, name: str, vectors: Any, metadata: Any, sprite: Any, images: Any
) -> EmbeddingInfo:
    array = as_numbers(vectors, "vectors")
    if array.ndim != 2 or min(array.shape) < 2:
        shape = list(array.shape)
        raise ArgumentError("vectors", f"has shape {shape}; expected [n, d], both at least 2")
    # Format everything before writing anything, so that misuse leaves no partial files.
    labels = None if metadata is None else format_metadata(metadata, len(array))
    encoded_sprite = _encode_sprite(sprite, images, len(array))
    prefix = re.sub(r"[^\w.-]", "_", name) or "embedding"
    info = EmbeddingInfo(tensor_name=name, tensor_shape=list(array.shape))
    run_dir.mkdir(parents=True, exist_ok=True)
    info.tensor_path = f"{prefix}.tensors.tsv"
    (run_dir / info.tensor_path).write_text(format_vectors(array), encoding="utf-8")
    if labels is not None:
        info.metadata_path = f"{prefix}.metadata.tsv"
        (run_dir / info.metadata_path).write_text(labels, encoding="utf-8")
    if encoded_sprite is not None:
        data, size = encoded_sprite
        info.sprite = SpriteMetadata(f"{prefix}.sprite.png", list(size))
        (run_dir / info.sprite.image_path).write_bytes(data)
    return info


def _encode_sprite(sprite: Any, images: Any, count: int) -> tuple[bytes, tuple[int, int]] | None:
    if images is not None:
        if len(images) != count:
            raise ArgumentError("images", f"has {len(images)} images for {count} vectors")
        pixels, size = make_sprite(images)
        return encode_pixels(pixels).encoded, size
    if sprite is None:
        return None
    if isinstance(sprite, (str, os.PathLike)):
        sprite = Path(sprite).read_bytes()
    image = encode_images(sprite)[0]
    return image.encoded, compute_cell_size(image.width, image.height, count)


def _add_to_config(run_dir: Path, info: EmbeddingInfo) -> None:
    path = run_dir / CONFIG_NAME
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    name_line = f"  tensor_name: {_quote(info.tensor_name)}\n"
    other_blocks = _EMBEDDING_BLOCK.sub(
        lambda block: "" if name_line in block[0] else block[0], text
    )
    path.write_text(other_blocks + _format_field("embeddings", info, ""), encoding="utf-8")


def _ensure_event_file(run_dir: Path, info: EmbeddingInfo) -> None:
    """Write an event file if there is none; without one, readers do not see the run."""
    if any(run_dir.glob("*tfevents*")):
        return
    count, size = info.tensor_shape
    with EventWriter(run_dir) as writer:
        text = f"{count} vectors with {size} dimensions for the projector"
        writer.add([build_text(f"projector/{info.tensor_name}", text)], 0)


def _get_run_dir(logdir: Any) -> Path:
    if hasattr(logdir, "get_logdir"):
        logdir = logdir.get_logdir()
    logdir = os.fspath(getattr(logdir, "logdir", logdir))
    if "://" in logdir:
        raise UsageError(f"`logdir` must be a local directory for the projector, not {logdir}")
    return Path(logdir).expanduser()


def _format_fields(message: Any, indent: str = "") -> str:
    """Format a message in protobuf's text format, without empty fields."""
    parts = []
    for name, value in vars(message).items():
        is_repeated = isinstance(value, Sequence) and not isinstance(value, str)
        for item in value if is_repeated else [value]:
            parts.append(_format_field(name, item, indent))
    return "".join(parts)


def _format_field(name: str, value: Any, indent: str) -> str:
    if isinstance(value, int):
        return f"{indent}{name}: {value}\n"
    if isinstance(value, str):
        return f"{indent}{name}: {_quote(value)}\n" if value else ""
    fields = _format_fields(value, indent + "  ")
    return f"{indent}{name} {{\n{fields}{indent}}}\n" if fields else ""


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
