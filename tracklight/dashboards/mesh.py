"""The Mesh dashboard: surfaces and point clouds.

The series of a mesh are joined in `tracklight.analysis.meshes`. Logged arrays may have any shape
and type: `load_mesh` keeps what can be drawn of them and says in notes what was repaired or left
out. `make_geometry_response` turns the result into GPU buffers, `write_mesh_file` into PLY or OBJ.
`Mesh` declares the routes.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.media import (
    ExportPart,
    StepsRequest,
    StepsResponse,
    ValueRequest,
    export_listed_values,
    has_fingerprint,
    value_path,
)
from tracklight.analysis.meshes import (
    MeshPart,
    MeshPartReader,
    MeshStep,
    SceneConfig,
    Vector,
    get_mesh_step,
    list_mesh_names,
    list_mesh_steps,
    parse_scene_config,
    read_mesh_parts,
)
from tracklight.analysis.source import Sentence
from tracklight.errors import FormatError, Message, UsageError
from tracklight.formats.summary import MeshContent
from tracklight.plugin import Blob, Context, Dashboard, Route
from tracklight.types import Bool, Float32, Float64, Int32

UInt8 = NDArray[np.uint8]

#: Surfaces up to this size are never reduced to points.
_MAX_FACES = 1_000_000
#: The faces of larger surfaces are shuffled, so that the page can draw a sample of them.
_MAX_UNSHUFFLED_FACES = 50_000

#: Larger OBJ files take too long to write and to read.
_MAX_OBJ_LINES = 500_000


# ---- requests and responses


class MeshRequest(ValueRequest):
    """One mesh of the batch of a step; the last one if the batch is smaller."""

    item: Annotated[int, msgspec.Meta(ge=0)] = 0


class GeometryRequest(MeshRequest):
    """One mesh with at most ``max_points`` points; larger ones are sampled."""

    max_points: Annotated[int, msgspec.Meta(ge=1, le=1 << 31)] = 100_000


class MeshFileRequest(MeshRequest):
    """One mesh as a file: binary PLY, or OBJ."""

    format: Literal["ply", "obj"] = "ply"


class MeshInfo(msgspec.Struct):
    """The size and position of a mesh, and how it was logged."""

    step: int
    wall_time: float
    items: int
    """Number of meshes in the batch of this step."""
    item: int
    vertex_count: int
    finite_count: int
    """Number of points with finite coordinates."""
    face_count: int
    min: Vector
    """Lower corner of the bounding box, in the logged coordinates."""
    max: Vector
    """Upper corner of the bounding box."""
    radius: float
    """Largest distance of a point from the center of the bounding box."""
    parts: dict[str, str]
    """Type and shape of the logged arrays ``vertex``, ``face`` and ``color``."""
    scene: SceneConfig
    notes: list[Sentence]
    """Messages about what was repaired, left out or taken from another step."""


class GeometryResponse(msgspec.Struct):
    """A mesh to be drawn. A vertex is at ``center + scale * position``.

    Points, and the faces of a large surface, are in a random but reproducible order, so that any
    number of the first ones is a fair sample.
    """

    info: MeshInfo
    center: Vector
    scale: float
    position: Float32
    """Three coordinates in [-1, 1] for each vertex."""
    face: Int32 | None
    """Three vertices for each triangle; null for points."""
    normal: UInt8 | None
    """Three signed bytes for each vertex, if there are faces."""
    color: UInt8 | None
    """Red, green and blue for each vertex."""


# ---- loading


@dataclass(frozen=True, eq=False)
class LoadedMesh:
    """A mesh whose coordinates are finite and whose faces refer to existing vertices."""

    info: MeshInfo
    vertices: Float64
    faces: Int32 | None
    colors: UInt8 | None


def load_mesh(reader: MeshPartReader, mesh_step: MeshStep, item: int) -> LoadedMesh:
    """Read the parts of a mesh and repair them.

    Raises:
        FormatError: There are no vertices, or they have the wrong shape.
    """
    notes: list[Message] = []
    parts = _read_parts(reader, mesh_step, notes)
    vertex_part = parts.get(MeshContent.VERTEX)
    if vertex_part is None:
        raise FormatError("mesh.no_vertices", "this mesh has no vertices")
    items = count_items(vertex_part.array)
    item = max(0, min(item, items - 1))
    _drop_mismatched_batches(parts, items, notes)
    vertices = extract_vertices(vertex_part.array, item, notes)
    faces, colors = _extract_faces_and_colors(parts, item, len(vertices), notes)
    points = len(vertices)
    vertices, faces, colors = _drop_non_finite(vertices, faces, colors, notes)
    low, high = _compute_bounds(vertices)
    info = MeshInfo(
        step=mesh_step.step,
        wall_time=mesh_step.wall_time,
        items=items,
        item=item,
        vertex_count=points,
        finite_count=len(vertices),
        face_count=0 if faces is None else len(faces),
        min=low,
        max=high,
        radius=_compute_radius(vertices, low, high),
        parts={kind.name.lower(): _format_array(part.array) for kind, part in parts.items()},
        scene=parse_scene_config(vertex_part.config, notes),
        notes=[Sentence.make(note) for note in notes],
    )
    return LoadedMesh(info, vertices, faces, colors)


def _read_parts(
    reader: MeshPartReader, mesh_step: MeshStep, notes: list[Message]
) -> dict[MeshContent, MeshPart]:
    parts = read_mesh_parts(reader.read, mesh_step)
    notes.extend(
        _describe_other_step(kind, part.step)
        for kind, part in parts.items()
        if part.step != mesh_step.step
    )
    return parts


def _describe_other_step(kind: MeshContent, step: int) -> Message:
    if kind is MeshContent.FACE:
        return Message.format("mesh.faces_of_step", "The faces are from step {step:,}.", step=step)
    if kind is MeshContent.COLOR:
        return Message.format(
            "mesh.colors_of_step", "The colors are from step {step:,}.", step=step
        )
    return Message.format(
        "mesh.vertices_of_step", "The vertices are from step {step:,}.", step=step
    )


def _drop_mismatched_batches(
    parts: dict[MeshContent, MeshPart], items: int, notes: list[Message]
) -> None:
    faces, colors = parts.get(MeshContent.FACE), parts.get(MeshContent.COLOR)
    if faces is not None and (own_items := count_items(faces.array)) not in (1, items):
        notes.append(
            Message.format(
                "mesh.faces_of_other_batch",
                "The faces are for {own} meshes instead of {items}: not drawn.",
                own=own_items,
                items=items,
            )
        )
        del parts[MeshContent.FACE]
    if colors is not None and (own_items := count_items(colors.array)) not in (1, items):
        notes.append(
            Message.format(
                "mesh.colors_of_other_batch",
                "The colors are for {own} meshes instead of {items}: not drawn.",
                own=own_items,
                items=items,
            )
        )
        del parts[MeshContent.COLOR]


def _extract_faces_and_colors(
    parts: dict[MeshContent, MeshPart], item: int, points: int, notes: list[Message]
) -> tuple[Int32 | None, UInt8 | None]:
    faces, colors = parts.get(MeshContent.FACE), parts.get(MeshContent.COLOR)
    return (
        None if faces is None else extract_faces(faces.array, item, points, notes),
        None if colors is None else extract_colors(colors.array, item, points, notes),
    )


def extract_vertices(array: NDArray[Any], item: int, notes: list[Message]) -> Float64:
    """Return the vertices of one item of a batch, [points, 3].

    Raises:
        FormatError: The array has the wrong type or shape.
    """
    is_valid = array.dtype.kind in "fiub" and array.ndim in (2, 3) and array.shape[-1] >= 2
    if not is_valid:
        raise FormatError(
            "mesh.invalid_vertices",
            "the vertices are {dtype} of shape {shape}; "
            "they must have the shape [batch, points, 3]",
            **_describe(array),
        )
    rows = _get_item(array, item)
    width = rows.shape[1]
    vertices = np.zeros((len(rows), 3))
    vertices[:, : min(width, 3)] = rows[:, :3]
    if width == 2:
        notes.append(
            Message(
                "mesh.two_coordinates",
                "The vertices have two coordinates and are shown in a plane.",
            )
        )
    elif width > 3:
        notes.append(
            Message.format(
                "mesh.many_coordinates",
                "The vertices have {width} coordinates; the first three are shown.",
                width=width,
            )
        )
    return vertices


def extract_faces(
    array: NDArray[Any], item: int, points: int, notes: list[Message]
) -> Int32 | None:
    """Return the triangles of one item, [faces, 3], without those with invalid vertices.

    Quads are split into two triangles. None if the array has the wrong type or shape.
    """
    if array.dtype.kind not in "fiub" or array.ndim not in (2, 3) or array.shape[-1] not in (3, 4):
        notes.append(
            Message.format(
                "mesh.invalid_faces",
                "The faces are {dtype} of shape {shape}, not [batch, faces, 3]: not drawn.",
                **_describe(array),
            )
        )
        return None
    # PyTorch logs faces as float32. Comparing as floats also rejects NaN and fractions.
    faces = _get_item(array, item).astype(np.float64)
    is_valid = ((faces >= 0) & (faces < points) & (faces == np.floor(faces))).all(axis=1)
    invalid = len(faces) - int(is_valid.sum())
    if invalid:
        notes.append(
            Message.format(
                "mesh.missing_vertices",
                "{invalid:,} of {faces:,} faces refer to vertices that do not exist "
                "(there are {points:,}): not drawn.",
                invalid=invalid,
                faces=len(faces),
                points=points,
            )
        )
    valid: Int32 = faces[is_valid].astype(np.int32)
    if valid.shape[1] == 4:
        valid = np.concatenate([valid[:, [0, 1, 2]], valid[:, [0, 2, 3]]])
    return valid


def extract_colors(
    array: NDArray[Any], item: int, points: int, notes: list[Message]
) -> UInt8 | None:
    """Return the colors of one item, [points, 3]; None if the array has the wrong type or shape.

    Colors may be floats up to 1 or numbers up to 255, gray, RGB or RGBA.
    """
    if array.dtype.kind not in "fiub" or array.ndim not in (2, 3):
        notes.append(
            Message.format(
                "mesh.invalid_colors",
                "The colors are {dtype} of shape {shape}, not [batch, points, 3]: not shown.",
                **_describe(array),
            )
        )
        return None
    rows = _get_item(array, item)
    if len(rows) != points or rows.shape[1] not in (1, 3, 4):
        notes.append(
            Message.format(
                "mesh.color_count",
                "There are {colors:,} colors with {channels} channels "
                "for {points:,} vertices: not shown.",
                colors=len(rows),
                channels=rows.shape[1],
                points=points,
            )
        )
        return None
    colors = np.repeat(rows, 3, axis=1) if rows.shape[1] == 1 else rows[:, :3]
    if colors.dtype == np.uint8:
        return np.ascontiguousarray(colors)
    if colors.dtype.kind == "f":
        colors = np.nan_to_num(colors, nan=0.0, posinf=255.0, neginf=0.0)
    # The scale is that of the whole batch, so that dark items stay dark.
    is_unit_scale = array.dtype.kind in "fb" and _get_finite_max(array) <= 1
    return np.clip(np.rint(colors * (255.0 if is_unit_scale else 1.0)), 0, 255).astype(np.uint8)


def count_items(array: NDArray[Any]) -> int:
    """Return the number of meshes in a batch."""
    return len(array) if array.ndim == 3 else 1


def _describe(array: NDArray[Any]) -> dict[str, str]:
    """Return the arguments of messages about an array."""
    dtype = "string" if array.dtype == object else str(array.dtype)
    return {"dtype": dtype, "shape": str(list(array.shape))}


def _format_array(array: NDArray[Any]) -> str:
    return "{dtype} of shape {shape}".format(**_describe(array))


def _get_item(array: NDArray[Any], item: int) -> NDArray[Any]:
    """Return one item of a batch; an array without a batch axis applies to all items."""
    if array.ndim == 2:
        return array
    if not len(array):
        return np.zeros((0, array.shape[2]), array.dtype)
    return np.asarray(array[min(item, len(array) - 1)])


def _get_finite_max(array: NDArray[Any]) -> float:
    finite = array[np.isfinite(array)]
    return float(finite.max()) if len(finite) else 0.0


def _drop_non_finite(
    vertices: Float64, faces: Int32 | None, colors: UInt8 | None, notes: list[Message]
) -> tuple[Float64, Int32 | None, UInt8 | None]:
    """Remove vertices with NaN or infinite coordinates, and the faces that use them."""
    is_finite: Bool = np.asarray(np.isfinite(vertices).all(axis=1))
    if is_finite.all():
        return vertices, faces, colors
    notes.append(
        Message.format(
            "mesh.non_finite_vertices",
            "{count:,} of {points:,} vertices are NaN or infinite: not drawn.",
            count=np.count_nonzero(~is_finite),
            points=len(vertices),
        )
    )
    if faces is not None:
        new_index = np.cumsum(is_finite, dtype=np.int32) - 1
        faces = new_index[faces[is_finite[faces].all(axis=1)]].astype(np.int32)
    return vertices[is_finite], faces, None if colors is None else colors[is_finite]


def _compute_bounds(vertices: Float64) -> tuple[Vector, Vector]:
    if not len(vertices):
        return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    return _to_vector(vertices.min(axis=0)), _to_vector(vertices.max(axis=0))


def _to_vector(coordinates: Float64) -> Vector:
    x, y, z = coordinates.tolist()
    return x, y, z


def _compute_radius(vertices: Float64, low: Vector, high: Vector) -> float:
    center = np.array(low) / 2 + np.array(high) / 2
    largest = float(np.abs(vertices - center).max(initial=0.0))
    if largest == 0:
        return 0.0
    # Scaled to 1, as the squares of very large coordinates overflow.
    return largest * float(np.sqrt(np.square((vertices - center) / largest).sum(axis=1).max()))


# ---- drawing


def make_geometry_response(mesh: LoadedMesh, max_points: int) -> GeometryResponse:
    """Return the buffers of a mesh, or of a sample of its points if it is too large."""
    faces = mesh.faces
    if faces is not None and len(faces) > max(max_points, _MAX_FACES):
        note = Message(
            "mesh.too_many_faces", "The mesh has too many faces; its points are shown instead."
        )
        info = msgspec.structs.replace(mesh.info, notes=[*mesh.info.notes, Sentence.make(note)])
        mesh, faces = LoadedMesh(info, mesh.vertices, None, mesh.colors), None
    if faces is None or not len(faces):
        return _make_points(mesh, max_points)
    return _make_surface(mesh, faces)


def _make_points(mesh: LoadedMesh, max_points: int) -> GeometryResponse:
    sample = _shuffle(len(mesh.vertices))[:max_points]
    center, scale = _compute_frame(mesh.info)
    return GeometryResponse(
        info=mesh.info,
        center=center,
        scale=scale,
        position=_normalize_positions(mesh.vertices[sample], center, scale),
        face=None,
        normal=None,
        color=None if mesh.colors is None else mesh.colors[sample].reshape(-1),
    )


def _make_surface(mesh: LoadedMesh, faces: Int32) -> GeometryResponse:
    center, scale = _compute_frame(mesh.info)
    if len(faces) > _MAX_UNSHUFFLED_FACES:
        faces = faces[_shuffle(len(faces))]
    position = _normalize_positions(mesh.vertices, center, scale)
    return GeometryResponse(
        info=mesh.info,
        center=center,
        scale=scale,
        position=position,
        face=faces.reshape(-1),
        normal=_compute_normals(position.reshape(-1, 3), faces),
        color=None if mesh.colors is None else mesh.colors.reshape(-1),
    )


def _compute_frame(info: MeshInfo) -> tuple[Vector, float]:
    """Return the center of the bounding box and half of its longest side."""
    low, high = np.array(info.min), np.array(info.max)
    # Halve first: the sum of two large numbers may overflow.
    scale = float((high / 2 - low / 2).max())
    return _to_vector(low / 2 + high / 2), scale if scale > 0 else 1.0


def _normalize_positions(vertices: Float64, center: Vector, scale: float) -> Float32:
    positions: Float32 = ((vertices - center) / scale).astype(np.float32).reshape(-1)
    return positions


def _shuffle(count: int) -> Int32:
    """Return a random permutation that depends only on the count."""
    rng = np.random.default_rng(count)
    order: Int32 = rng.permutation(np.arange(count, dtype=np.int32))
    return order


def _compute_normals(vertices: Float32, faces: Int32) -> UInt8:
    """Return the normal of each vertex: the mean normal of its faces, weighted by area."""
    corners = vertices[faces]
    face_normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    sums = np.zeros((len(vertices), 3))
    for axis in range(3):
        weights = np.repeat(face_normals[:, axis], 3)
        sums[:, axis] = np.bincount(faces.reshape(-1), weights, len(vertices))
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    unit = np.divide(sums, lengths, out=np.zeros_like(sums), where=lengths > 0)
    signed: NDArray[np.int8] = np.rint(unit * 127).astype(np.int8)
    return signed.reshape(-1).view(np.uint8)


# ---- files


def write_mesh_file(request: MeshFileRequest, mesh: LoadedMesh) -> Blob:
    """Return a mesh with all of its points and faces as PLY or OBJ.

    Raises:
        UsageError: The mesh is too large for OBJ.
    """
    content = _encode_ply(mesh) if request.format == "ply" else _encode_obj(mesh)
    media_type = "model/ply" if request.format == "ply" else "model/obj"
    name = re.sub(r"[^\w.-]+", "-", f"{request.run}-{request.tag}").strip("-.") or "mesh"
    filename = f"{name}-{mesh.info.step}.{request.format}"
    return Blob(content, media_type, filename, immutable=request.fingerprint is not None)


def _encode_ply(mesh: LoadedMesh) -> bytes:
    channels = ("red", "green", "blue")
    fields = [(axis, "<f4") for axis in "xyz"]
    header = ["ply", "format binary_little_endian 1.0", f"element vertex {len(mesh.vertices)}"]
    header += [f"property float {axis}" for axis in "xyz"]
    if mesh.colors is not None:
        fields += [(channel, "u1") for channel in channels]
        header += [f"property uchar {channel}" for channel in channels]
    rows = np.zeros(len(mesh.vertices), fields)
    for index, axis in enumerate("xyz"):
        rows[axis] = mesh.vertices[:, index]
    if mesh.colors is not None:
        for index, channel in enumerate(channels):
            rows[channel] = mesh.colors[:, index]
    body = rows.tobytes()
    if mesh.faces is not None:
        header += [f"element face {len(mesh.faces)}", "property list uchar int vertex_indices"]
        triangles = np.zeros(len(mesh.faces), [("count", "u1"), ("corners", "<i4", (3,))])
        triangles["count"] = 3
        triangles["corners"] = mesh.faces
        body += triangles.tobytes()
    return "\n".join([*header, "end_header\n"]).encode() + body


def _encode_obj(mesh: LoadedMesh) -> bytes:
    """Encode as OBJ; colors follow the coordinates, an extension that most programs read."""
    faces = np.zeros((0, 3), np.int32) if mesh.faces is None else mesh.faces
    lines = len(mesh.vertices) + len(faces)
    if lines > _MAX_OBJ_LINES:
        raise UsageError(
            "mesh.obj_too_large",
            "the mesh is too large for an OBJ file ({lines:,} lines); download PLY instead",
            lines=lines,
        )
    text = io.StringIO()
    if mesh.colors is None:
        np.savetxt(text, mesh.vertices, "v %.9g %.9g %.9g")
    else:
        rows = np.hstack([mesh.vertices, mesh.colors / 255.0])
        np.savetxt(text, rows, "v %.9g %.9g %.9g %.4g %.4g %.4g")
    np.savetxt(text, faces + 1, "f %d %d %d")
    return text.getvalue().encode()


# ---- static export

#: What the page requests first, and all that it requests in a static export; see
#: web/src/dashboards/mesh/mesh-card-model.svelte.ts.
_STATIC_MAX_POINTS = 100_000
#: Number of meshes of a batch that are exported.
_MAX_ITEMS = 4


def iter_static_responses(
    context: Context, runs: Sequence[str], geometry: Callable[[GeometryRequest], GeometryResponse]
) -> Iterator[ExportPart]:
    """Yield some steps of every mesh, each with the first meshes of its batch."""

    def export_value(value: ValueRequest) -> Iterator[ExportPart]:
        item, items = 0, 1
        while item < items:
            request = GeometryRequest(
                value.run, value.tag, value.index, value.fingerprint, item, _STATIC_MAX_POINTS
            )
            response = geometry(request)
            items = min(response.info.items, _MAX_ITEMS)
            response.info = msgspec.structs.replace(response.info, items=items)
            yield value_path("geometry", value, item=item, max_points=_STATIC_MAX_POINTS), response
            item += 1

    tags = [tag.tag for tag in context.log.shared_tags(runs) if tag.plugin == "mesh"]
    listed = [
        (name, list_mesh_steps(context, StepsRequest([name], list(runs))))
        for name in list_mesh_names(tags)
    ]
    series_count = sum(len(response.series) for _, response in listed)
    return export_listed_values(listed, series_count, export_value)


# ---- the dashboard


class Mesh(Dashboard):
    """Serves meshes as buffers that a GPU can draw, and as files."""

    name = "mesh"
    title = "Mesh"
    plugins = ("mesh",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._reader = MeshPartReader(context)

    def routes(self) -> Sequence[Route]:
        return [
            Route("steps", StepsRequest, self.steps),
            Route("about", MeshRequest, self.about, "GET", immutable=has_fingerprint),
            Route("geometry", GeometryRequest, self.geometry, "GET", immutable=has_fingerprint),
            Route("file", MeshFileRequest, self.file, "GET"),
        ]

    def export_static(self, runs: Sequence[str]) -> Iterator[tuple[str, object]]:
        return iter_static_responses(self.context, runs, self.geometry)

    def steps(self, request: StepsRequest) -> StepsResponse:
        """Return the steps of some meshes, without overwritten values.

        Tags are the names of meshes, without the ``_VERTEX``, ``_FACE`` or ``_COLOR`` of their
        series.
        """
        return list_mesh_steps(self.context, request)

    def about(self, request: MeshRequest) -> MeshInfo:
        """Return the size and position of a mesh, and how it was logged."""
        return self._load(request).info

    def geometry(self, request: GeometryRequest) -> GeometryResponse:
        """Return a mesh ready to be drawn."""
        return make_geometry_response(self._load(request), request.max_points)

    def file(self, request: MeshFileRequest) -> Blob:
        """Return a mesh with all points and faces, in the logged order, as PLY or OBJ."""
        return write_mesh_file(request, self._load(request))

    def _load(self, request: MeshRequest) -> LoadedMesh:
        mesh_step = get_mesh_step(self.context.log, request)
        return load_mesh(self._reader, mesh_step, request.item)
