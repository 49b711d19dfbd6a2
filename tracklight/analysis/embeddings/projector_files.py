"""Files of TensorBoard's projector: ``projector_config.pbtxt`` and saved bookmarks."""

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
_MAX_BOOKMARKS_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """One embedding of a config. Paths are relative to the config's directory, empty if unset."""

    tensor_name: str = ""
    tensor_path: str = ""
    tensor_shape: tuple[int, ...] = ()
    metadata_path: str = ""
    bookmarks_path: str = ""
    sprite_path: str = ""
    sprite_size: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ProjectorConfig:
    """The content of a ``projector_config.pbtxt``."""

    checkpoint_path: str = ""
    entries: tuple[ConfigEntry, ...] = ()


class CameraDef(msgspec.Struct, rename="camel"):
    """A camera position. The points fill a cube from -1 to 1, with y pointing up."""

    orthographic: bool = False
    position: tuple[float, float, float] = (0, 0, 1)
    target: tuple[float, float, float] = (0, 0, 0)
    zoom: float = 1


class Bookmark(msgspec.Struct, rename="camel"):
    """One saved view. The coordinates of the points and unknown fields are dropped."""

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


def parse_config(data: bytes) -> ProjectorConfig:
    """Parse the text of a config; unknown fields are ignored.

    Raises:
        FormatError: The text is not a projector config.
    """
    message = parse_text_proto("ProjectorConfig", data, CONFIG_FILENAME)
    checkpoint = message.model_checkpoint_path or message.model_checkpoint_dir
    return ProjectorConfig(_decode_text(checkpoint), tuple(map(_read_entry, message.embeddings)))


def parse_text_proto(kind: str, data: bytes, name: str) -> Message:
    """Parse a message in protobuf's text format.

    Args:
        kind: Name of the message type.
        data: The content of the file.
        name: Name of the file, for error messages.
    """
    from google.protobuf import text_format

    if len(data) > _MAX_CONFIG_BYTES:
        raise FormatError(
            "embeddings.config_too_large",
            "{name} has {size} bytes; at most {limit_mib} MiB are read",
            name=name,
            size=len(data),
            limit_mib=_MAX_CONFIG_BYTES >> 20,
        )
    message = getattr(proto, kind)()
    try:
        return text_format.Parse(
            data.decode("utf-8", "surrogateescape"), message, allow_unknown_field=True
        )
    except (text_format.ParseError, UnicodeError, RecursionError, ValueError) as error:
        raise FormatError(
            "embeddings.config_unreadable",
            "{name} cannot be read: line {error}",
            name=name,
            error=error,
        ) from None


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


def read_bookmarks(file: BinaryIO, shape: tuple[int, int]) -> list[Bookmark]:
    """Read the saved views of an embedding with this shape.

    Raises:
        FormatError: The file is not a list of bookmarks, or they belong to another shape.
    """
    if get_file_size(file) > _MAX_BOOKMARKS_BYTES:
        raise FormatError(
            "embeddings.bookmarks_too_large",
            "bookmark files over {limit_mib} MiB are not read",
            limit_mib=_MAX_BOOKMARKS_BYTES >> 20,
        )
    file.seek(0)
    try:
        bookmarks = msgspec.json.decode(file.read(), type=list[Bookmark])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise FormatError(
            "embeddings.invalid_bookmarks", "invalid bookmarks: {error}", error=error
        ) from None
    for bookmark in bookmarks:
        expected = bookmark.data_set_dimensions
        if expected and expected != list(shape):
            raise FormatError(
                "embeddings.bookmarks_mismatch",
                "the bookmarks belong to vectors of shape {expected}, not {shape}",
                expected=expected,
                shape=list(shape),
            )
    return bookmarks
