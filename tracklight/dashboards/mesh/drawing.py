"""A mesh as the columns that a graphics card takes."""

from __future__ import annotations

from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.dashboards.mesh.geometry import About, ItemAsk, Solid
from tracklight.dashboards.mesh.mending import Bytes
from tracklight.types import Float32, Float64, Int32

#: A surface up to this size is never drawn as points.
_MOST_FACES = 1_000_000
#: Smaller surfaces are always drawn whole, so their faces may stay in the order logged.
_FEW_FACES = 50_000


class GeometryAsk(ItemAsk):
    """One mesh with at most so many of its points; of more, a fair sample."""

    most: Annotated[int, msgspec.Meta(ge=1, le=1 << 31)] = 100_000


class Geometry(msgspec.Struct):
    """What is drawn. A vertex stands at ``centre + scale * position``.

    The points, and the faces of a large surface, come in a random order that is always the same:
    any number of the first ones is a fair sample of all.
    """

    about: About
    centre: list[float]
    scale: float
    position: Float32
    """Three numbers in [-1, 1] a vertex."""
    face: Int32 | None
    """Three vertices a triangle; null for points."""
    normal: Bytes | None
    """Three signed bytes a vertex, for faces."""
    color: Bytes | None
    """Red, green and blue a vertex."""


def draw(solid: Solid, most: int) -> Geometry:
    """The columns of a mesh, or of a sample of its points."""
    faces = solid.faces
    if faces is not None and len(faces) > max(most, _MOST_FACES):
        about = msgspec.structs.replace(
            solid.about, notes=[*solid.about.notes, "Its points are shown instead of its faces."]
        )
        solid, faces = Solid(about, solid.vertices, None, solid.colors), None
    if faces is None or not len(faces):
        return _draw_points(solid, most)
    return _draw_faces(solid, faces)


def _draw_points(solid: Solid, most: int) -> Geometry:
    chosen = _shuffle(len(solid.vertices))[:most]
    centre, scale = _find_frame(solid.about)
    return Geometry(
        about=solid.about,
        centre=centre,
        scale=scale,
        position=_place(solid.vertices[chosen], centre, scale),
        face=None,
        normal=None,
        color=None if solid.colors is None else solid.colors[chosen].reshape(-1),
    )


def _draw_faces(solid: Solid, faces: Int32) -> Geometry:
    centre, scale = _find_frame(solid.about)
    if len(faces) > _FEW_FACES:
        faces = faces[_shuffle(len(faces))]
    position = _place(solid.vertices, centre, scale)
    return Geometry(
        about=solid.about,
        centre=centre,
        scale=scale,
        position=position,
        face=faces.reshape(-1),
        normal=_find_normals(position.reshape(-1, 3), faces),
        color=None if solid.colors is None else solid.colors.reshape(-1),
    )


def _find_frame(about: About) -> tuple[list[float], float]:
    low, high = np.array(about.low), np.array(about.high)
    # Halves first: the sum of two large numbers may be infinite.
    scale = float((high / 2 - low / 2).max())
    return (low / 2 + high / 2).tolist(), scale if scale > 0 else 1.0


def _place(vertices: Float64, centre: list[float], scale: float) -> Float32:
    placed: Float32 = ((vertices - centre) / scale).astype(np.float32).reshape(-1)
    return placed


def _shuffle(count: int) -> Int32:
    rng = np.random.default_rng(count)
    shuffled: Int32 = rng.permutation(np.arange(count, dtype=np.int32))
    return shuffled


def _find_normals(vertices: Float32, faces: Int32) -> Bytes:
    """At each vertex the mean direction of its faces, larger ones weighing more."""
    corners = vertices[faces]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    sums = np.zeros((len(vertices), 3))
    for axis in range(3):
        weights = np.repeat(across[:, axis], 3)
        sums[:, axis] = np.bincount(faces.reshape(-1), weights, len(vertices))
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    unit = np.divide(sums, lengths, out=np.zeros_like(sums), where=lengths > 0)
    signed: NDArray[np.int8] = np.rint(unit * 127).astype(np.int8)
    return signed.reshape(-1).view(np.uint8)
