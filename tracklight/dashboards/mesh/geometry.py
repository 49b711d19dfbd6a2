"""One mesh of a batch at one step, put together from its parts and ready to be drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import msgspec
import numpy as np

from tracklight.dashboards.mesh.look import Look, read_look
from tracklight.dashboards.mesh.mending import (
    Bytes,
    count_items,
    describe,
    pick_colors,
    pick_faces,
    pick_vertices,
)
from tracklight.errors import FormatError
from tracklight.formats.summary import MeshContent
from tracklight.media.reader import ValueAsk
from tracklight.meshes.moments import Moment
from tracklight.meshes.reading import Logged, PartReader, read_parts
from tracklight.types import Bool, Float64, Int32

_WORDS = {MeshContent.FACE: "faces", MeshContent.COLOR: "colours"}


class ItemAsk(ValueAsk):
    """One mesh of the batch of a step; where there are fewer, the last one."""

    item: Annotated[int, msgspec.Meta(ge=0)] = 0


class About(msgspec.Struct):
    """What is known of one mesh before it is drawn."""

    step: int
    wall_time: float
    items: int
    """How many meshes the batch of this step holds."""
    item: int
    points: int
    drawable: int
    """Of the points those that are somewhere."""
    faces: int
    low: list[float]
    """The corners of the box around it, in the coordinates that were logged."""
    high: list[float]
    radius: float
    """How far the furthest point is from the middle of the box."""
    parts: dict[str, str]
    """Type and shape of what was logged, for ``vertex``, ``face`` and ``color``."""
    look: Look
    notes: list[str]
    """Sentences on what was mended, left out, or taken from another step."""


@dataclass(frozen=True, eq=False)
class Solid:
    """A mesh with nothing wrong left in it."""

    about: About
    vertices: Float64
    faces: Int32 | None
    colors: Bytes | None


def build_solid(reader: PartReader, moment: Moment, item: int) -> Solid:
    """Reads the parts of a moment and mends what is wrong with them."""
    notes: list[str] = []
    logged = _read_parts(reader, moment, notes)
    base = logged.get(MeshContent.VERTEX)
    if base is None:
        raise FormatError("this mesh has no vertices, so there is nothing to draw")
    items = count_items(base.array)
    item = max(0, min(item, items - 1))
    _compare_batches(logged, items, notes)
    vertices = pick_vertices(base.array, item, notes)
    faces, colors = _pick_rest(logged, item, len(vertices), notes)
    points = len(vertices)
    vertices, faces, colors = _drop_unplaced(vertices, faces, colors, notes)
    low, high = _find_box(vertices)
    about = About(
        step=moment.step,
        wall_time=moment.wall_time,
        items=items,
        item=item,
        points=points,
        drawable=len(vertices),
        faces=0 if faces is None else len(faces),
        low=low,
        high=high,
        radius=_find_radius(vertices, low, high),
        parts={part.name.lower(): describe(one.array) for part, one in logged.items()},
        look=read_look(base.config, notes),
        notes=notes,
    )
    return Solid(about, vertices, faces, colors)


def _read_parts(reader: PartReader, moment: Moment, notes: list[str]) -> dict[MeshContent, Logged]:
    logged = read_parts(reader.read, moment)
    for part, one in logged.items():
        if one.step != moment.step:
            notes.append(f"The {_WORDS.get(part, 'vertices')} are those of step {one.step:,}.")
    return logged


def _compare_batches(logged: dict[MeshContent, Logged], items: int, notes: list[str]) -> None:
    for part, one in list(logged.items()):
        own = count_items(one.array)
        if part in _WORDS and own not in (1, items):
            notes.append(f"There are {_WORDS[part]} of {own} meshes for {items}: not drawn.")
            del logged[part]


def _pick_rest(
    logged: dict[MeshContent, Logged], item: int, points: int, notes: list[str]
) -> tuple[Int32 | None, Bytes | None]:
    faces, colors = logged.get(MeshContent.FACE), logged.get(MeshContent.COLOR)
    return (
        None if faces is None else pick_faces(faces.array, item, points, notes),
        None if colors is None else pick_colors(colors.array, item, points, notes),
    )


def _drop_unplaced(
    vertices: Float64, faces: Int32 | None, colors: Bytes | None, notes: list[str]
) -> tuple[Float64, Int32 | None, Bytes | None]:
    """Without the vertices that are nowhere, and the faces that hang on them."""
    placed: Bool = np.asarray(np.isfinite(vertices).all(axis=1))
    if placed.all():
        return vertices, faces, colors
    notes.append(
        f"{np.count_nonzero(~placed):,} of {len(vertices):,} vertices are NaN or infinite: "
        "not drawn."
    )
    if faces is not None:
        moved = np.cumsum(placed, dtype=np.int32) - 1
        faces = moved[faces[placed[faces].all(axis=1)]].astype(np.int32)
    return vertices[placed], faces, None if colors is None else colors[placed]


def _find_box(vertices: Float64) -> tuple[list[float], list[float]]:
    if not len(vertices):
        return [0.0] * 3, [0.0] * 3
    return vertices.min(axis=0).tolist(), vertices.max(axis=0).tolist()


def _find_radius(vertices: Float64, low: list[float], high: list[float]) -> float:
    middle = np.array(low) / 2 + np.array(high) / 2
    reach = float(np.abs(vertices - middle).max(initial=0.0))
    if reach == 0:
        return 0.0
    # Of the largest size they may have, squares would be infinite.
    return reach * float(np.sqrt(np.square((vertices - middle) / reach).sum(axis=1).max()))
