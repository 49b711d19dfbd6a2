"""Tab-separated files, as the projector reads them."""

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
from tracklight.writer import warnings
from tracklight.writer.arguments import as_numbers
from tracklight.writer.media import as_pixels
from tracklight.writer.warnings import ArgumentError

__all__ = [
    "EmbeddingInfo",
    "ProjectorConfig",
    "SpriteMetadata",
    "embeddings",
    "visualize_embeddings",
]

#: Enough digits to get every float32 back.
_FLOAT_FORMAT = "%.9g"

#: A line without anything would be skipped, and all labels after it would be one off.
_EMPTY_LABEL = "(empty)"


def format_vectors(vectors: NDArray[Any]) -> str:
    return "".join(
        "\t".join(_FLOAT_FORMAT % number for number in row) + "\n" for row in vectors.tolist()
    )


def format_metadata(metadata: Any, count: int) -> str:
    """Labels of points: one column without a name, or several with a row of names above them.

    Takes a list of labels, a dict of columns, a list of dicts, or a data frame.
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


def _as_columns(metadata: Any) -> dict[str, Sequence[object]]:
    if hasattr(metadata, "columns") and hasattr(metadata, "to_dict"):
        return {str(name): metadata[name].tolist() for name in metadata.columns}
    if isinstance(metadata, Mapping):
        return {str(name): list(cells) for name, cells in metadata.items()}
    if isinstance(metadata, (str, bytes)):
        raise ArgumentError("metadata", "must be a list of labels or a dict of columns, not a text")
    items = np.asarray(metadata).tolist() if hasattr(metadata, "dtype") else list(metadata)
    if items and all(isinstance(item, Mapping) for item in items):
        names = dict.fromkeys(name for item in items for name in item)
        return {str(name): [item.get(name, "") for item in items] for name in names}
    return {"label": items}


def _as_cell(value: object) -> str:
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return re.sub(r"\s+", " ", text).strip() or _EMPTY_LABEL


# One picture that holds many, as the projector wants them: row by row, in a square grid.

#: What a browser can surely show as one texture.
MAX_SPRITE_SIDE_PX = 8192


def make_sprite(images: object) -> tuple[NDArray[np.uint8], tuple[int, int]]:
    """A sheet of pictures [n, height, width, channels], and the width and height of each in it.

    Pictures that would make the sheet too large are made smaller, by leaving out rows and columns.
    """
    pixels = _as_batch(images)
    side = math.ceil(math.sqrt(len(pixels)))
    stride = math.ceil(side * max(pixels.shape[1:3]) / MAX_SPRITE_SIDE_PX)
    pixels = pixels[:, ::stride, ::stride]
    count, height, width, channels = pixels.shape
    cells = np.zeros((side * side, height, width, channels), np.uint8)
    cells[:count] = pixels
    rows = cells.reshape(side, side, height, width, channels).swapaxes(1, 2)
    return rows.reshape(side * height, side * width, channels), (width, height)


def compute_cell_size(width: int, height: int, count: int) -> tuple[int, int]:
    """The width and height of each of ``count`` pictures in a sheet of that size."""
    side = math.ceil(math.sqrt(count))
    if not count or width % side or height % side:
        raise ArgumentError(
            "sprite", f"is {width} x {height}, which {side} pictures a side do not divide"
        )
    return width // side, height // side


def _as_batch(images: object) -> NDArray[np.uint8]:
    array: NDArray[Any] = as_numbers(images, "images")
    array = array[..., None] if array.ndim == 3 else array
    if array.ndim != 4 or array.shape[-1] not in (1, 3, 4) or not array.size:
        raise ArgumentError(
            "images", f"has shape {list(array.shape)}; give [n, height, width, channels]"
        )
    return as_pixels(array)


# Logs embeddings for the projector.
#
#     tracklight.projector.embeddings("logs/run1", vectors, metadata=labels, images=pictures)
#
# is all it takes: no checkpoint is needed, and the sprite sheet is made from the pictures.
# `ProjectorConfig` and `visualize_embeddings` are for programs that write the files themselves.

CONFIG_NAME = "projector_config.pbtxt"

T = TypeVar("T")

_EMBEDDING_BLOCK = re.compile(r"^embeddings \{\n.*?^\}\n", re.MULTILINE | re.DOTALL)


class _MessageList(list[T], Generic[T]):
    """A list that makes its own items, as protobuf's do."""

    def __init__(self, kind: type[T]) -> None:
        super().__init__()
        self._kind = kind

    def add(self, **fields: Any) -> T:
        item = self._kind(**fields)
        self.append(item)
        return item


@dataclass
class SpriteMetadata:
    """A sheet of pictures, and the width and height of each in it."""

    image_path: str = ""
    single_image_dim: list[int] = field(default_factory=list)


@dataclass
class EmbeddingInfo:
    """One tensor, in a checkpoint or in a file of its own; paths start at the folder of the run."""

    tensor_name: str = ""
    metadata_path: str = ""
    bookmarks_path: str = ""
    tensor_shape: list[int] = field(default_factory=list)
    sprite: SpriteMetadata = field(default_factory=SpriteMetadata)
    tensor_path: str = ""


@dataclass
class ProjectorConfig:
    """What the projector is to show of a run; ``config.embeddings.add()`` makes an entry."""

    model_checkpoint_path: str = ""
    embeddings: _MessageList[EmbeddingInfo] = field(
        default_factory=lambda: _MessageList(EmbeddingInfo)
    )
    model_checkpoint_dir: str = ""


def visualize_embeddings(logdir: Any, config: Any) -> None:
    """Write ``config``, a `ProjectorConfig` or TensorBoard's own, into the folder of a run."""
    folder = _get_run_dir(logdir)
    if isinstance(config, ProjectorConfig):
        text = _format_fields(config)
    elif hasattr(config, "DESCRIPTOR"):
        from google.protobuf import text_format

        text = text_format.MessageToString(config)
    else:
        raise UsageError(f"`config` must be a ProjectorConfig, not a {type(config).__name__}")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CONFIG_NAME).write_text(text, encoding="utf-8")


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
    """Log vectors [n, d] for the projector, under ``name``.

    ``metadata`` has a label for each: a list, a dict of columns, or a data frame. ``images`` are
    n pictures, ``sprite`` is a sheet of them: a picture file's path or bytes. Further embeddings of
    a run get names of their own; the same name replaces what it stood for.
    """
    strict = warnings.is_strict() if strict is None else strict
    with warnings.catch_errors(f"projector.embeddings({name!r:.100})", strict=strict):
        folder = _get_run_dir(logdir)
        info = _write_files(folder, name, vectors, metadata, sprite, images)
        _add_to_config(folder, info)
        _ensure_event_file(folder, info)
        return True
    return False


def _write_files(
    folder: Path, name: str, vectors: Any, metadata: Any, sprite: Any, images: Any
) -> EmbeddingInfo:
    from tracklight.writer.arguments import as_numbers

    pass

    array = as_numbers(vectors, "vectors")
    if array.ndim != 2 or min(array.shape) < 2:
        shape = list(array.shape)
        raise warnings.ArgumentError("vectors", f"has shape {shape}; give [n, d], both at least 2")
    # All is made before anything is written, so that misuse leaves nothing half done.
    labels = None if metadata is None else format_metadata(metadata, len(array))
    sheet = _encode_sprite(sprite, images, len(array))
    prefix = re.sub(r"[^\w.-]", "_", name) or "embedding"
    info = EmbeddingInfo(tensor_name=name, tensor_shape=list(array.shape))
    folder.mkdir(parents=True, exist_ok=True)
    info.tensor_path = f"{prefix}.tensors.tsv"
    (folder / info.tensor_path).write_text(format_vectors(array), encoding="utf-8")
    if labels is not None:
        info.metadata_path = f"{prefix}.metadata.tsv"
        (folder / info.metadata_path).write_text(labels, encoding="utf-8")
    if sheet is not None:
        encoded, size = sheet
        info.sprite = SpriteMetadata(f"{prefix}.sprite.png", list(size))
        (folder / info.sprite.image_path).write_bytes(encoded)
    return info


def _encode_sprite(sprite: Any, images: Any, count: int) -> tuple[bytes, tuple[int, int]] | None:
    if sprite is None and images is None:
        return None
    from tracklight.writer.media import encode_images, encode_pixels

    pass

    if images is not None:
        if len(images) != count:
            raise warnings.ArgumentError("images", f"are {len(images)} for {count} vectors")
        sheet, size = make_sprite(images)
        return encode_pixels(sheet).encoded, size
    if isinstance(sprite, (str, os.PathLike)):
        sprite = Path(sprite).read_bytes()
    picture = encode_images(sprite)[0]
    return picture.encoded, compute_cell_size(picture.width, picture.height, count)


def _add_to_config(folder: Path, info: EmbeddingInfo) -> None:
    path = folder / CONFIG_NAME
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    same = f"  tensor_name: {_quote(info.tensor_name)}\n"
    kept = _EMBEDDING_BLOCK.sub(lambda block: "" if same in block[0] else block[0], text)
    path.write_text(kept + _format_field("embeddings", info, ""), encoding="utf-8")


def _ensure_event_file(folder: Path, info: EmbeddingInfo) -> None:
    """A run is a folder with an event file; without one, no reader would look for a config."""
    if any(folder.glob("*tfevents*")):
        return
    from tracklight.writer.event_writer import EventWriter
    from tracklight.writer.values import build_text

    count, size = info.tensor_shape
    with EventWriter(folder) as writer:
        text = f"{count} vectors of {size} numbers, for the projector"
        writer.add([build_text(f"projector/{info.tensor_name}", text)], 0)


def _get_run_dir(logdir: Any) -> Path:
    if hasattr(logdir, "get_logdir"):
        logdir = logdir.get_logdir()
    logdir = os.fspath(getattr(logdir, "logdir", logdir))
    if "://" in logdir:
        raise UsageError(f"`logdir` must be a local folder for the projector, not {logdir}")
    return Path(logdir).expanduser()


def _format_fields(message: Any, indent: str = "") -> str:
    """A message in protobuf's text format; what is empty is left out."""
    parts = []
    for name, value in vars(message).items():
        for item in (
            value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
        ):
            parts.append(_format_field(name, item, indent))
    return "".join(parts)


def _format_field(name: str, value: Any, indent: str) -> str:
    if isinstance(value, int):
        return f"{indent}{name}: {value}\n"
    if isinstance(value, str):
        return f"{indent}{name}: {_quote(value)}\n" if value else ""
    inside = _format_fields(value, indent + "  ")
    return f"{indent}{name} {{\n{inside}{indent}}}\n" if inside else ""


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
