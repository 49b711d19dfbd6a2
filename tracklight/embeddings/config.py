"""``projector_config.pbtxt``: which tensors to show, and where their labels and pictures are."""

from __future__ import annotations

from dataclasses import dataclass

from tracklight.errors import FormatError
from tracklight.formats import proto
from tracklight.formats.proto import Message
from tracklight.logdir.tensors import PROJECTOR_CONFIG

NAME = PROJECTOR_CONFIG
_MAX_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Entry:
    """One embedding of a config; paths start at the config's folder, empty is not given."""

    tensor_name: str = ""
    tensor_path: str = ""
    tensor_shape: tuple[int, ...] = ()
    metadata_path: str = ""
    bookmarks_path: str = ""
    sprite_path: str = ""
    sprite_size: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Config:
    """A config as it was written."""

    checkpoint_path: str = ""
    entries: tuple[Entry, ...] = ()


def parse_config(data: bytes) -> Config:
    """Read the text of a config; fields that nobody knows are passed over."""
    message = parse_text("ProjectorConfig", data, NAME)
    checkpoint = message.model_checkpoint_path or message.model_checkpoint_dir
    return Config(_text(checkpoint), tuple(map(_read_entry, message.embeddings)))


def parse_text(kind: str, data: bytes, name: str) -> Message:
    """A message in protobuf's text format; ``name`` is what its file is called."""
    from google.protobuf import text_format

    if len(data) > _MAX_BYTES:
        raise FormatError(f"{name} has {len(data)} bytes, which no such file needs")
    message = getattr(proto, kind)()
    try:
        return text_format.Parse(
            data.decode("utf-8", "surrogateescape"), message, allow_unknown_field=True
        )
    except (text_format.ParseError, UnicodeError, RecursionError, ValueError) as error:
        raise FormatError(f"{name} cannot be read: line {error}") from None


def _read_entry(info: Message) -> Entry:
    return Entry(
        tensor_name=_text(info.tensor_name).removesuffix(":0"),
        tensor_path=_text(info.tensor_path),
        tensor_shape=tuple(info.tensor_shape),
        metadata_path=_text(info.metadata_path),
        bookmarks_path=_text(info.bookmarks_path),
        sprite_path=_text(info.sprite.image_path),
        sprite_size=tuple(info.sprite.single_image_dim),
    )


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
