"""``projector_config.pbtxt``: which tensors to show, and where their labels and pictures are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import BinaryIO

import msgspec

from tracklight.errors import FormatError
from tracklight.formats import proto
from tracklight.formats.checkpoints.tensor_file import get_file_size
from tracklight.formats.proto import Message
from tracklight.logdir.discover import PROJECTOR_CONFIG

CONFIG_FILENAME = PROJECTOR_CONFIG

_MAX_CONFIG_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """One embedding of a config; paths start at the config's folder, empty is not given."""

    tensor_name: str = ""
    tensor_path: str = ""
    tensor_shape: tuple[int, ...] = ()
    metadata_path: str = ""
    bookmarks_path: str = ""
    sprite_path: str = ""
    sprite_size: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ProjectorConfig:
    """A config as it was written."""

    checkpoint_path: str = ""
    entries: tuple[ConfigEntry, ...] = ()


def parse_config(data: bytes) -> ProjectorConfig:
    """Read the text of a config; fields that nobody knows are passed over."""
    message = parse_text_proto("ProjectorConfig", data, CONFIG_FILENAME)
    checkpoint = message.model_checkpoint_path or message.model_checkpoint_dir
    return ProjectorConfig(_decode_text(checkpoint), tuple(map(_read_entry, message.embeddings)))


def parse_text_proto(kind: str, data: bytes, name: str) -> Message:
    """A message in protobuf's text format; ``name`` is what its file is called."""
    from google.protobuf import text_format

    if len(data) > _MAX_CONFIG_BYTES:
        raise FormatError(f"{name} has {len(data)} bytes, which no such file needs")
    message = getattr(proto, kind)()
    try:
        return text_format.Parse(
            data.decode("utf-8", "surrogateescape"), message, allow_unknown_field=True
        )
    except (text_format.ParseError, UnicodeError, RecursionError, ValueError) as error:
        raise FormatError(f"{name} cannot be read: line {error}") from None


def _read_entry(info: Message) -> ConfigEntry:
    return ConfigEntry(
        tensor_name=_decode_text(info.tensor_name).removesuffix(":0"),
        tensor_path=_decode_text(info.tensor_path),
        tensor_shape=tuple(info.tensor_shape),
        metadata_path=_decode_text(info.metadata_path),
        bookmarks_path=_decode_text(info.bookmarks_path),
        sprite_path=_decode_text(info.sprite.image_path),
        sprite_size=tuple(info.sprite.single_image_dim),
    )


def _decode_text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


# Views that somebody saved, as TensorBoard's projector writes them.

_MAX_BOOKMARKS_BYTES = 256 << 20


class CameraDef(msgspec.Struct, rename="camel"):
    """Where points are looked at from; they fill a cube from -1 to 1, with y on top."""

    orthographic: bool = False
    position: tuple[float, float, float] = (0, 0, 1)
    target: tuple[float, float, float] = (0, 0, 0)
    zoom: float = 1


class Bookmark(msgspec.Struct, rename="camel"):
    """One view; what is not known is dropped, and the place of every point as well."""

    label: str = ""
    is_selected: bool = False
    selected_projection: str = "pca"
    data_set_dimensions: list[int] = []
    selected_points: list[int] = []
    filtered_points: list[int] | None = None
    camera_def: CameraDef | None = None
    pca_component_dimensions: list[int] = []
    tsne_perplexity: float | None = msgspec.field(name="tSNEPerplexity", default=None)
    tsne_iteration: int | None = msgspec.field(name="tSNEIteration", default=None)
    tsne_is_3d: bool | None = msgspec.field(name="tSNEis3d", default=None)
    umap_is_3d: bool | None = msgspec.field(name="umapIs3d", default=None)
    umap_neighbors: int | None = None
    umap_min_dist: float | None = None
    custom_selected_search_by_metadata_option: str | None = None
    custom_x_left_text: str | None = None
    custom_x_left_regex: bool | None = None
    custom_x_right_text: str | None = None
    custom_x_right_regex: bool | None = None
    custom_y_down_text: str | None = None
    custom_y_down_regex: bool | None = None
    custom_y_up_text: str | None = None
    custom_y_up_regex: bool | None = None
    selected_color_option_name: str | None = None
    force_categorical_coloring: bool | None = None
    selected_label_option: str | None = None


def read_bookmarks(file: BinaryIO, shape: tuple[int, int]) -> list[Bookmark]:
    """The views of an embedding; those of one that has another shape are refused."""
    if get_file_size(file) > _MAX_BOOKMARKS_BYTES:
        raise FormatError(
            f"bookmarks of more than {_MAX_BOOKMARKS_BYTES >> 20} MiB, the most that is read"
        )
    file.seek(0)
    try:
        bookmarks = msgspec.json.decode(file.read(), type=list[Bookmark])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise FormatError(f"the bookmarks are not right: {error}") from None
    for bookmark in bookmarks:
        there = bookmark.data_set_dimensions
        if there and there != list(shape):
            raise FormatError(f"the bookmarks are for {there} numbers, and not for {list(shape)}")
    return bookmarks
