"""Views that somebody saved, as TensorBoard's projector writes them."""

from __future__ import annotations

from typing import BinaryIO

import msgspec

from tracklight.errors import FormatError
from tracklight.tensorfiles.place import measure

_MAX_BYTES = 256 << 20


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
    if measure(file) > _MAX_BYTES:
        raise FormatError(f"bookmarks of more than {_MAX_BYTES >> 20} MiB, the most that is read")
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
