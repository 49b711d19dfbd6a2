"""Logs embeddings for the projector.

    tracklight.projector.embeddings("logs/run1", vectors, metadata=labels, images=pictures)

is all it takes: no checkpoint is needed, and the sprite sheet is made from the pictures.
`ProjectorConfig` and `visualize_embeddings` are for programs that write the files themselves.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from tracklight.errors import UsageError
from tracklight.sdk import lenient

__all__ = [
    "EmbeddingInfo",
    "ProjectorConfig",
    "SpriteMetadata",
    "embeddings",
    "visualize_embeddings",
]

CONFIG_NAME = "projector_config.pbtxt"

T = TypeVar("T")

_BLOCK = re.compile(r"^embeddings \{\n.*?^\}\n", re.MULTILINE | re.DOTALL)


class _Messages(list[T], Generic[T]):
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
    embeddings: _Messages[EmbeddingInfo] = field(default_factory=lambda: _Messages(EmbeddingInfo))
    model_checkpoint_dir: str = ""


def visualize_embeddings(logdir: Any, config: Any) -> None:
    """Write ``config``, a `ProjectorConfig` or TensorBoard's own, into the folder of a run."""
    folder = _find_folder(logdir)
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
    strict = lenient.is_strict() if strict is None else strict
    with lenient.guard(f"projector.embeddings({name!r:.100})", strict=strict):
        folder = _find_folder(logdir)
        info = _write_files(folder, name, vectors, metadata, sprite, images)
        _add_to_config(folder, info)
        _make_visible(folder, info)
        return True
    return False


def _write_files(
    folder: Path, name: str, vectors: Any, metadata: Any, sprite: Any, images: Any
) -> EmbeddingInfo:
    from tracklight.sdk.arrays import as_numbers
    from tracklight.sdk.tables import format_metadata, format_vectors

    array = as_numbers(vectors, "vectors")
    if array.ndim != 2 or min(array.shape) < 2:
        shape = list(array.shape)
        raise lenient.Misuse("vectors", f"has shape {shape}; give [n, d], both at least 2")
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
    from tracklight.sdk.pictures import encode_pictures, encode_pixels
    from tracklight.sdk.sprites import find_cell_size, make_sprite

    if images is not None:
        if len(images) != count:
            raise lenient.Misuse("images", f"are {len(images)} for {count} vectors")
        sheet, size = make_sprite(images)
        return encode_pixels(sheet).encoded, size
    if isinstance(sprite, (str, os.PathLike)):
        sprite = Path(sprite).read_bytes()
    picture = encode_pictures(sprite)[0]
    return picture.encoded, find_cell_size(picture.width, picture.height, count)


def _add_to_config(folder: Path, info: EmbeddingInfo) -> None:
    path = folder / CONFIG_NAME
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    same = f"  tensor_name: {_quote(info.tensor_name)}\n"
    kept = _BLOCK.sub(lambda block: "" if same in block[0] else block[0], text)
    path.write_text(kept + _format_field("embeddings", info, ""), encoding="utf-8")


def _make_visible(folder: Path, info: EmbeddingInfo) -> None:
    """A run is a folder with an event file; without one, no reader would look for a config."""
    if any(folder.glob("*tfevents*")):
        return
    from tracklight.sdk.values import build_text
    from tracklight.sdk.writer import EventWriter

    count, size = info.tensor_shape
    with EventWriter(folder) as writer:
        text = f"{count} vectors of {size} numbers, for the projector"
        writer.add([build_text(f"projector/{info.tensor_name}", text)], 0)


def _find_folder(logdir: Any) -> Path:
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
