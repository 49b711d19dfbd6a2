"""Arrays of any shape and type as the vertices, faces and colours that can be drawn.

What is wrong with them is told in notes, and as much is kept as makes sense.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.media.values import ValueRequest
from tracklight.analysis.meshes import (
    MeshPart,
    MeshPartReader,
    MeshStep,
    SceneConfig,
    parse_scene_config,
    read_mesh_parts,
)
from tracklight.errors import FormatError, UsageError
from tracklight.formats.summary import MeshContent
from tracklight.plugin import Blob
from tracklight.types import Bool, Float32, Float64, Int32

UInt8 = NDArray[np.uint8]


def extract_vertices(array: NDArray[Any], item: int, notes: list[str]) -> Float64:
    """One item's vertices, [points, 3]."""
    if array.dtype.kind not in "fiub" or array.ndim not in (2, 3):
        raise FormatError(
            f"the vertices are {describe_array(array)}; they should be [batch, points, 3]"
        )
    rows = _get_item(array, item)
    width = rows.shape[1]
    if width < 2:
        raise FormatError(
            f"the vertices are {describe_array(array)}; they should be [batch, points, 3]"
        )
    points = np.zeros((len(rows), 3))
    points[:, : min(width, 3)] = rows[:, :3]
    if width == 2:
        notes.append("The vertices have two numbers each; they lie in a plane.")
    elif width > 3:
        notes.append(f"The vertices have {width} numbers each, of which three are shown.")
    return points


def extract_faces(array: NDArray[Any], item: int, points: int, notes: list[str]) -> Int32 | None:
    """One item's triangles, [faces, 3], without those that name vertices that are not there."""
    if array.dtype.kind not in "fiub" or array.ndim not in (2, 3) or array.shape[-1] not in (3, 4):
        notes.append(f"The faces are {describe_array(array)} and not [batch, faces, 3]: not drawn.")
        return None
    # In floating point whatever is no index compares as such, as torch logs faces as float32.
    faces = _get_item(array, item).astype(np.float64)
    good = ((faces >= 0) & (faces < points) & (faces == np.floor(faces))).all(axis=1)
    wrong = len(faces) - int(good.sum())
    if wrong:
        notes.append(
            f"{wrong:,} of {len(faces):,} faces name vertices that are not there "
            f"(there are {points:,}): not drawn."
        )
    whole: Int32 = faces[good].astype(np.int32)
    if whole.shape[1] == 4:
        whole = np.concatenate([whole[:, [0, 1, 2]], whole[:, [0, 2, 3]]])
    return whole


def extract_colors(array: NDArray[Any], item: int, points: int, notes: list[str]) -> UInt8 | None:
    """One item's colours, [points, 3]; floats up to 1 and numbers up to 255 are both understood."""
    if array.dtype.kind not in "fiub" or array.ndim not in (2, 3):
        notes.append(
            f"The colours are {describe_array(array)} and not [batch, points, 3]: not shown."
        )
        return None
    rows = _get_item(array, item)
    if len(rows) != points or rows.shape[1] not in (1, 3, 4):
        notes.append(
            f"There are {len(rows):,} colours of {rows.shape[1]} numbers "
            f"for {points:,} vertices: not shown."
        )
        return None
    shades = np.repeat(rows, 3, axis=1) if rows.shape[1] == 1 else rows[:, :3]
    if shades.dtype == np.uint8:
        return np.ascontiguousarray(shades)
    if shades.dtype.kind == "f":
        shades = np.nan_to_num(shades, nan=0.0, posinf=255.0, neginf=0.0)
    # All items of a batch are of one scale, however dark one of them is.
    is_share = array.dtype.kind in "fb" and _get_finite_max(array) <= 1
    return np.clip(np.rint(shades * (255.0 if is_share else 1.0)), 0, 255).astype(np.uint8)


def count_items(array: NDArray[Any]) -> int:
    """How many meshes a batch holds."""
    return len(array) if array.ndim == 3 else 1


def describe_array(array: NDArray[Any]) -> str:
    kind = "text" if array.dtype == object else str(array.dtype)
    return f"{kind} of shape {list(array.shape)}"


def _get_item(array: NDArray[Any], item: int) -> NDArray[Any]:
    """One item of a batch. What is there once stands for all."""
    if array.ndim == 2:
        return array
    if not len(array):
        return np.zeros((0, array.shape[2]), array.dtype)
    return np.asarray(array[min(item, len(array) - 1)])


def _get_finite_max(array: NDArray[Any]) -> float:
    finite = array[np.isfinite(array)]
    return float(finite.max()) if len(finite) else 0.0


# One mesh of a batch at one step, put together from its parts and ready to be drawn.

_PART_NAMES = {MeshContent.FACE: "faces", MeshContent.COLOR: "colours"}


class MeshRequest(ValueRequest):
    """One mesh of the batch of a step; where there are fewer, the last one."""

    item: Annotated[int, msgspec.Meta(ge=0)] = 0


class MeshInfo(msgspec.Struct):
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
    look: SceneConfig
    notes: list[str]
    """Sentences on what was mended, left out, or taken from another step."""


@dataclass(frozen=True, eq=False)
class LoadedMesh:
    """A mesh with nothing wrong left in it."""

    info: MeshInfo
    vertices: Float64
    faces: Int32 | None
    colors: UInt8 | None


def load_mesh(reader: MeshPartReader, mesh_step: MeshStep, item: int) -> LoadedMesh:
    """Reads the parts of a moment and mends what is wrong with them."""
    notes: list[str] = []
    logged = _read_parts(reader, mesh_step, notes)
    base = logged.get(MeshContent.VERTEX)
    if base is None:
        raise FormatError("this mesh has no vertices, so there is nothing to draw")
    items = count_items(base.array)
    item = max(0, min(item, items - 1))
    _drop_mismatched_batches(logged, items, notes)
    vertices = extract_vertices(base.array, item, notes)
    faces, colors = _extract_faces_and_colors(logged, item, len(vertices), notes)
    points = len(vertices)
    vertices, faces, colors = _drop_non_finite(vertices, faces, colors, notes)
    low, high = _compute_bounds(vertices)
    about = MeshInfo(
        step=mesh_step.step,
        wall_time=mesh_step.wall_time,
        items=items,
        item=item,
        points=points,
        drawable=len(vertices),
        faces=0 if faces is None else len(faces),
        low=low,
        high=high,
        radius=_compute_radius(vertices, low, high),
        parts={part.name.lower(): describe_array(one.array) for part, one in logged.items()},
        look=parse_scene_config(base.config, notes),
        notes=notes,
    )
    return LoadedMesh(about, vertices, faces, colors)


def _read_parts(
    reader: MeshPartReader, moment: MeshStep, notes: list[str]
) -> dict[MeshContent, MeshPart]:
    logged = read_mesh_parts(reader.read, moment)
    for part, one in logged.items():
        if one.step != moment.step:
            notes.append(f"The {_PART_NAMES.get(part, 'vertices')} are those of step {one.step:,}.")
    return logged


def _drop_mismatched_batches(
    logged: dict[MeshContent, MeshPart], items: int, notes: list[str]
) -> None:
    for part, one in list(logged.items()):
        own = count_items(one.array)
        if part in _PART_NAMES and own not in (1, items):
            notes.append(f"There are {_PART_NAMES[part]} of {own} meshes for {items}: not drawn.")
            del logged[part]


def _extract_faces_and_colors(
    logged: dict[MeshContent, MeshPart], item: int, points: int, notes: list[str]
) -> tuple[Int32 | None, UInt8 | None]:
    faces, colors = logged.get(MeshContent.FACE), logged.get(MeshContent.COLOR)
    return (
        None if faces is None else extract_faces(faces.array, item, points, notes),
        None if colors is None else extract_colors(colors.array, item, points, notes),
    )


def _drop_non_finite(
    vertices: Float64, faces: Int32 | None, colors: UInt8 | None, notes: list[str]
) -> tuple[Float64, Int32 | None, UInt8 | None]:
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


def _compute_bounds(vertices: Float64) -> tuple[list[float], list[float]]:
    if not len(vertices):
        return [0.0] * 3, [0.0] * 3
    return vertices.min(axis=0).tolist(), vertices.max(axis=0).tolist()


def _compute_radius(vertices: Float64, low: list[float], high: list[float]) -> float:
    middle = np.array(low) / 2 + np.array(high) / 2
    reach = float(np.abs(vertices - middle).max(initial=0.0))
    if reach == 0:
        return 0.0
    # Of the largest size they may have, squares would be infinite.
    return reach * float(np.sqrt(np.square((vertices - middle) / reach).sum(axis=1).max()))


# A mesh as the columns that a graphics card takes.

#: A surface up to this size is never drawn as points.
_MAX_FACES = 1_000_000

#: Smaller surfaces are always drawn whole, so their faces may stay in the order logged.
_MAX_UNSHUFFLED_FACES = 50_000


class GeometryRequest(MeshRequest):
    """One mesh with at most so many of its points; of more, a fair sample."""

    most: Annotated[int, msgspec.Meta(ge=1, le=1 << 31)] = 100_000


class GeometryResponse(msgspec.Struct):
    """What is drawn. A vertex stands at ``centre + scale * position``.

    The points, and the faces of a large surface, come in a random order that is always the same:
    any number of the first ones is a fair sample of all.
    """

    about: MeshInfo
    centre: list[float]
    scale: float
    position: Float32
    """Three numbers in [-1, 1] a vertex."""
    face: Int32 | None
    """Three vertices a triangle; null for points."""
    normal: UInt8 | None
    """Three signed bytes a vertex, for faces."""
    color: UInt8 | None
    """Red, green and blue a vertex."""


def make_geometry_response(mesh: LoadedMesh, max_points: int) -> GeometryResponse:
    """The columns of a mesh, or of a sample of its points."""
    faces = mesh.faces
    if faces is not None and len(faces) > max(max_points, _MAX_FACES):
        about = msgspec.structs.replace(
            mesh.info, notes=[*mesh.info.notes, "Its points are shown instead of its faces."]
        )
        mesh, faces = LoadedMesh(about, mesh.vertices, None, mesh.colors), None
    if faces is None or not len(faces):
        return _draw_points(mesh, max_points)
    return _draw_faces(mesh, faces)


def _draw_points(solid: LoadedMesh, most: int) -> GeometryResponse:
    chosen = _shuffle(len(solid.vertices))[:most]
    centre, scale = _compute_frame(solid.info)
    return GeometryResponse(
        about=solid.info,
        centre=centre,
        scale=scale,
        position=_normalize_positions(solid.vertices[chosen], centre, scale),
        face=None,
        normal=None,
        color=None if solid.colors is None else solid.colors[chosen].reshape(-1),
    )


def _draw_faces(solid: LoadedMesh, faces: Int32) -> GeometryResponse:
    centre, scale = _compute_frame(solid.info)
    if len(faces) > _MAX_UNSHUFFLED_FACES:
        faces = faces[_shuffle(len(faces))]
    position = _normalize_positions(solid.vertices, centre, scale)
    return GeometryResponse(
        about=solid.info,
        centre=centre,
        scale=scale,
        position=position,
        face=faces.reshape(-1),
        normal=_compute_normals(position.reshape(-1, 3), faces),
        color=None if solid.colors is None else solid.colors.reshape(-1),
    )


def _compute_frame(about: MeshInfo) -> tuple[list[float], float]:
    low, high = np.array(about.low), np.array(about.high)
    # Halves first: the sum of two large numbers may be infinite.
    scale = float((high / 2 - low / 2).max())
    return (low / 2 + high / 2).tolist(), scale if scale > 0 else 1.0


def _normalize_positions(vertices: Float64, centre: list[float], scale: float) -> Float32:
    placed: Float32 = ((vertices - centre) / scale).astype(np.float32).reshape(-1)
    return placed


def _shuffle(count: int) -> Int32:
    rng = np.random.default_rng(count)
    shuffled: Int32 = rng.permutation(np.arange(count, dtype=np.int32))
    return shuffled


def _compute_normals(vertices: Float32, faces: Int32) -> UInt8:
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


# A mesh as a file that other programs open.

#: Beyond this a text takes too long to write, and to read.
_MAX_OBJ_LINES = 500_000


class MeshFileRequest(MeshRequest):
    """One mesh as it was logged: PLY in binary, or OBJ as text."""

    format: Literal["ply", "obj"] = "ply"


def write_mesh_file(ask: MeshFileRequest, mesh: LoadedMesh) -> Blob:
    content = _encode_ply(mesh) if ask.format == "ply" else _encode_obj(mesh)
    media_type = "model/ply" if ask.format == "ply" else "model/obj"
    name = re.sub(r"[^\w.-]+", "-", f"{ask.run}-{ask.tag}").strip("-.") or "mesh"
    filename = f"{name}-{mesh.info.step}.{ask.format}"
    return Blob(content, media_type, filename, immutable=ask.mark is not None)


def _encode_ply(solid: LoadedMesh) -> bytes:
    fields = [(axis, "<f4") for axis in "xyz"]
    lines = ["ply", "format binary_little_endian 1.0", f"element vertex {len(solid.vertices)}"]
    lines += [f"property float {axis}" for axis in "xyz"]
    if solid.colors is not None:
        fields += [(shade, "u1") for shade in ("red", "green", "blue")]
        lines += [f"property uchar {shade}" for shade in ("red", "green", "blue")]
    rows = np.zeros(len(solid.vertices), fields)
    for number, axis in enumerate("xyz"):
        rows[axis] = solid.vertices[:, number]
    if solid.colors is not None:
        for number, shade in enumerate(("red", "green", "blue")):
            rows[shade] = solid.colors[:, number]
    body = rows.tobytes()
    if solid.faces is not None:
        lines += [f"element face {len(solid.faces)}", "property list uchar int vertex_indices"]
        triangles = np.zeros(len(solid.faces), [("count", "u1"), ("corners", "<i4", (3,))])
        triangles["count"] = 3
        triangles["corners"] = solid.faces
        body += triangles.tobytes()
    return "\n".join([*lines, "end_header\n"]).encode() + body


def _encode_obj(solid: LoadedMesh) -> bytes:
    """Colours follow the coordinates, as most programs read them."""
    faces = np.zeros((0, 3), np.int32) if solid.faces is None else solid.faces
    lines = len(solid.vertices) + len(faces)
    if lines > _MAX_OBJ_LINES:
        raise UsageError(
            f"an OBJ file of {lines:,} lines is too large to be of use; download PLY instead"
        )
    text = io.StringIO()
    if solid.colors is None:
        np.savetxt(text, solid.vertices, "v %.9g %.9g %.9g")
    else:
        rows = np.hstack([solid.vertices, solid.colors / 255.0])
        np.savetxt(text, rows, "v %.9g %.9g %.9g %.4g %.4g %.4g")
    np.savetxt(text, faces + 1, "f %d %d %d")
    return text.getvalue().encode()
