"""Meshes of a log: find their series, join them by step, and decode them.

A mesh is logged as up to three series: vertices, faces and colors. Their tags end with
``_VERTEX``, ``_FACE`` and ``_COLOR``, and they may have been logged at different steps. The module
has five parts: names of meshes, steps of a mesh, reading its parts, the scene config (camera,
lights and material) that may be logged with it, and `Mesh`, which `tracklight.open` returns.

The Mesh dashboard and `tracklight.open` both read meshes through this module, so it must import
neither.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.media import (
    SeriesSteps,
    StepsRequest,
    StepsResponse,
    ValueRequest,
    compute_fingerprints,
)
from tracklight.analysis.source import Context, Source
from tracklight.errors import FormatError, LogError, Message
from tracklight.formats import proto, tensor
from tracklight.formats.proto import decode_text
from tracklight.formats.summary import MeshContent
from tracklight.index.catalog import Catalog
from tracklight.types import Bool, Float64, Int32, Int64, ValueLocations
from tracklight.util.memory import LruCache

Vector = tuple[float, float, float]
LightKind = Literal["ambient", "directional", "point"]

#: TensorFlow 1 appends a number if two summary operations have the same name.
_MESH_TAG = re.compile(r"(?P<name>.*)_(?P<part>VERTEX|FACE|COLOR)(?P<number>_\d+)?", re.DOTALL)
_NUMBERED_NAME = re.compile(r"(?P<name>.*)(?P<number>_\d+)", re.DOTALL)

#: In `MeshSteps.rows`: the part has not been logged yet.
_NO_ROW = -1

_MAX_CACHE_BYTES = 96 << 20
#: 20 million vertices of 12 bytes.
_MAX_PART_BYTES = 240_000_000

_MAX_CONFIG_CHARS = 64 << 10
_MAX_LIGHTS = 8
#: Other numbers overflow in the single precision of a GPU.
_MIN_VALUE, _MAX_VALUE = 1e-12, 1e12

_HEX_COLOR = re.compile(r"#([0-9a-fA-F]{3}|[0-9a-fA-F]{6})")
_NAMED_COLOR = re.compile(r"[a-z]{3,24}")
_LIGHTS: dict[str, LightKind] = {
    "AmbientLight": "ambient",
    "HemisphereLight": "ambient",
    "DirectionalLight": "directional",
    "PointLight": "point",
    "SpotLight": "point",
}
_CAMERAS = ("PerspectiveCamera", "OrthographicCamera")


# ---- names


def split_mesh_tag(tag: str) -> tuple[str, MeshContent]:
    """Return the mesh that a series belongs to, and which part of it the series is.

    ``web/src/dashboards/mesh/mesh-state.svelte.ts`` has the same logic.
    """
    match = _MESH_TAG.fullmatch(tag)
    if match is None:
        return tag, MeshContent.VERTEX
    return match["name"] + (match["number"] or ""), MeshContent[match["part"]]


def list_mesh_names(tags: Sequence[str]) -> list[str]:
    """Return the meshes that some series belong to."""
    return list(dict.fromkeys(split_mesh_tag(tag)[0] for tag in tags))


def list_mesh_runs(log: Source, name: str) -> list[str]:
    """Return the runs that have any part of a mesh."""
    tags = [tag for part in MeshContent for tag in _iter_tags(name, part)]
    return list(dict.fromkeys(run for tag in tags for run in log.plugin_data(tag)))


def locate_mesh_parts(log: Source, run: str, name: str) -> dict[MeshContent, ValueLocations]:
    """Return the locations of all values of a mesh in a run, for the parts that it has."""
    parts: dict[MeshContent, ValueLocations] = {}
    for part in MeshContent:
        for tag in _iter_tags(name, part):
            if part not in parts and run in log.plugin_data(tag):
                parts[part] = log.locate(run, tag)
    return parts


def _iter_tags(name: str, part: MeshContent) -> Iterator[str]:
    """Yield the tags that a part of a mesh may have."""
    yield f"{name}_{part.name}"
    numbered = _NUMBERED_NAME.fullmatch(name)
    if numbered is not None:
        yield f"{numbered['name']}_{part.name}{numbered['number']}"
    if part is MeshContent.VERTEX and _MESH_TAG.fullmatch(name) is None:
        yield name


# ---- steps


@dataclass(frozen=True, slots=True)
class MeshSteps:
    """All steps at which any part of a mesh was logged.

    Each step has the last value of every part up to there. So faces that are logged once apply to
    all later vertices.
    """

    parts: Mapping[MeshContent, ValueLocations]
    step: Int64
    wall_time: Float64
    fingerprint: Int32
    """Identifies the values of a step, also after indices have changed."""
    rows: Mapping[MeshContent, Int32]
    """For each part, its value at each step; -1 if it has not been logged yet."""

    def __len__(self) -> int:
        return len(self.step)

    def __getitem__(self, index: int) -> MeshStep:
        values = {
            part: (self.parts[part], int(rows[index]))
            for part, rows in self.rows.items()
            if rows[index] != _NO_ROW
        }
        return MeshStep(int(self.step[index]), float(self.wall_time[index]), values)


@dataclass(frozen=True, slots=True)
class MeshStep:
    """A mesh of a run at one step, with the location of each part."""

    step: int
    wall_time: float
    values: Mapping[MeshContent, tuple[ValueLocations, int]]


def list_mesh_steps(context: Context, request: StepsRequest) -> StepsResponse:
    """Return the steps of some meshes by run. Tags of the request are names of meshes."""
    cursor = context.cursor()
    series = []
    for name in request.tags:
        runs = list_mesh_runs(context.log, name)
        if request.runs is not None:
            runs = [run for run in request.runs if run in runs]
        for run in runs:
            steps = join_mesh_parts(locate_mesh_parts(context.log, run, name))
            if len(steps):
                index = np.arange(len(steps), dtype=np.int32)
                columns = index, steps.step, steps.wall_time, steps.fingerprint
                series.append(SeriesSteps(run, name, *columns))
    return StepsResponse(cursor, series)


def get_mesh_step(log: Source, request: ValueRequest) -> MeshStep:
    """Return the requested step of a mesh.

    The fingerprint of the request, if it has one, takes precedence over the index, because indices
    change when a run restarts.

    Raises:
        LogError: The step does not exist any more.
    """
    steps = join_mesh_parts(locate_mesh_parts(log, request.run, request.tag))
    index: int | None = request.index
    fingerprint = request.fingerprint
    if fingerprint is not None and (
        request.index >= len(steps) or steps.fingerprint[request.index] != fingerprint
    ):
        matches = np.flatnonzero(steps.fingerprint == fingerprint)
        index = int(matches[0]) if len(matches) else None
    if index is None or index >= len(steps):
        raise LogError(
            "log.step_gone",
            'the log no longer has this step of "{tag}"; reload the page',
            tag=request.tag,
        )
    return steps[index]


def join_mesh_parts(parts: Mapping[MeshContent, ValueLocations]) -> MeshSteps:
    """Join the parts of a mesh by step. If it has vertices, it starts with the first of them."""
    orders = {part: _sort_current(locations) for part, locations in parts.items()}
    part_steps = [parts[part].step[order] for part, order in orders.items()]
    step = np.unique(np.concatenate([np.zeros(0, np.int64), *part_steps]))
    if len(orders.get(MeshContent.VERTEX, ())):
        step = step[step >= parts[MeshContent.VERTEX].step[orders[MeshContent.VERTEX][0]]]
    rows = {part: _get_rows(parts[part].step, order, step) for part, order in orders.items()}
    wall_time = np.zeros(len(step))
    fingerprint = np.zeros(len(step), np.int64)
    for part, own in rows.items():
        locations, exists = parts[part], own != _NO_ROW
        if len(locations):
            part_fingerprint = np.where(exists, compute_fingerprints(locations)[own], 0)
            is_new = exists & (locations.step[own] == step)
        else:
            part_fingerprint, is_new = np.zeros(len(step), np.int64), exists
        fingerprint = (fingerprint * 31 + part_fingerprint + exists) & 0x7FFFFFFF
        times = _take(locations.wall_time, own)
        wall_time = np.where(is_new & (wall_time == 0), times, wall_time)
    return MeshSteps(parts, step, wall_time, fingerprint.astype(np.int32), rows)


def _sort_current(locations: ValueLocations) -> Int32:
    """Return the values that were not overwritten, sorted by step."""
    current = np.flatnonzero(~locations.overwritten)
    order: Int32 = current[np.argsort(locations.step[current], kind="stable")].astype(np.int32)
    return order


def _get_rows(part_steps: Int64, order: Int32, step: Int64) -> Int32:
    """Return the last value of a part up to each step; of several at one step, the last."""
    last = np.searchsorted(part_steps[order], step, side="right") - 1
    return np.where(last < 0, _NO_ROW, _take(order, last)).astype(np.int32)


def _take(column: Float64 | Int32, rows: Int64 | Int32) -> Float64 | Int32:
    """Index a column; an empty one gives zeros."""
    return column[rows] if len(column) else np.zeros(len(rows), column.dtype)


# ---- reading parts


@dataclass(frozen=True, eq=False)
class MeshPart:
    """The decoded array of a part, with what was logged about the whole mesh."""

    step: int
    array: NDArray[Any]
    config: str
    """The scene config as JSON; see `parse_scene_config`."""
    components: int
    """A bit set of the parts that the mesh has; 0 if unknown."""


def read_mesh_part(log: Source, locations: ValueLocations, index: int) -> MeshPart:
    """Read and decode one part of a mesh, such as its vertices.

    Raises:
        FormatError: The value is not a tensor, or is too large to be decoded.
    """
    value = proto.parse("Value", log.read(locations, index))
    if not value.HasField("tensor"):
        raise FormatError(
            "log.not_a_tensor", 'the value of "{tag}" is not a tensor', tag=locations.tag
        )
    own = _parse_plugin_data(value.metadata.plugin_data.content)
    # Only the first value of a tag must have metadata. Its config applies to later values too, but
    # which parts belong to a later value is then unknown.
    first = _parse_plugin_data(log.plugin_data(locations.tag).get(locations.run, b""))
    return MeshPart(
        step=int(locations.step[index]),
        array=tensor.decode_tensor(value.tensor, max_bytes=_MAX_PART_BYTES),
        config=decode_text(own.json_config or first.json_config),
        components=own.components,
    )


def read_mesh_parts(
    read: Callable[[ValueLocations, int], MeshPart], mesh_step: MeshStep
) -> dict[MeshContent, MeshPart]:
    """Read all parts of a mesh at one step, without those that its vertices do not list."""
    parts = {part: read(*location) for part, location in mesh_step.values.items()}
    vertices = parts.get(MeshContent.VERTEX)
    if vertices is not None and vertices.components:
        parts = {kind: part for kind, part in parts.items() if vertices.components & (1 << kind)}
        parts[MeshContent.VERTEX] = vertices
    return parts


class MeshPartReader:
    """Reads parts of meshes through an LRU cache of bounded size. Thread-safe."""

    def __init__(self, context: Context) -> None:
        self._log = context.log
        self._parts: LruCache[tuple[str, str, int, int], MeshPart] = LruCache(
            max_bytes=_MAX_CACHE_BYTES
        )

    def read(self, locations: ValueLocations, index: int) -> MeshPart:
        fingerprint = int(compute_fingerprints(locations)[index])
        key = (locations.run, locations.tag, index, fingerprint)
        part = self._parts.find(key)
        if part is None:
            part = read_mesh_part(self._log, locations, index)
            self._parts.put(key, part, part.array.nbytes + len(part.config))
        return part


def _parse_plugin_data(content: bytes) -> proto.Message:
    try:
        return proto.parse("MeshPluginData", content)
    except FormatError:
        return proto.MeshPluginData()


# ---- scene config


class Camera(msgspec.Struct, omit_defaults=True):
    """A camera in the coordinates of the mesh; ``fov`` is in degrees."""

    orthographic: bool = False
    fov: float | None = None
    near: float | None = None
    far: float | None = None
    position: Vector | None = None
    look_at: Vector | None = None
    up: Vector | None = None


class Light(msgspec.Struct, omit_defaults=True):
    """A light; its color is a CSS color."""

    kind: LightKind
    color: str = "#ffffff"
    intensity: float = 1.0
    position: Vector | None = None


class Material(msgspec.Struct, omit_defaults=True):
    """The material of the surface or the points.

    ``size`` is the size of a point in the coordinates of the mesh, or in pixels if
    ``size_attenuation`` is false.
    """

    kind: str = ""
    color: str | None = None
    size: float | None = None
    size_attenuation: bool = True
    opacity: float | None = None
    wireframe: bool = False
    flat_shading: bool = False
    roughness: float | None = None
    metalness: float | None = None


class SceneConfig(msgspec.Struct, omit_defaults=True):
    """How the writer of a mesh wants it to be shown."""

    camera: Camera | None = None
    lights: list[Light] = []
    material: Material | None = None


def parse_scene_config(config: str, notes: list[Message]) -> SceneConfig:
    """Parse the three.js settings that may be logged with a mesh.

    The result is safe to use in a page: numbers are finite and within limits, colors are valid.

    Args:
        config: A JSON object, or an empty string.
        notes: Messages about settings that cannot be used are appended.
    """
    if not config.strip():
        return SceneConfig()
    fields = _parse_json_object(config)
    if fields is None:
        notes.append(
            Message(
                "mesh.invalid_config",
                "The scene config of this mesh is not a JSON object and was ignored.",
            )
        )
        return SceneConfig()
    camera, material = fields.get("camera"), fields.get("material")
    return SceneConfig(
        _read_camera(camera, notes) if isinstance(camera, dict) else None,
        _read_lights(fields.get("lights"), notes),
        _read_material(material) if isinstance(material, dict) else None,
    )


def _parse_json_object(config: str) -> dict[str, Any] | None:
    if len(config) > _MAX_CONFIG_CHARS:
        return None
    try:
        return msgspec.json.decode(config.encode("utf-8", "replace"), type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        return None


def _read_camera(fields: Mapping[str, Any], notes: list[Message]) -> Camera:
    kind = fields.get("cls", _CAMERAS[0])
    if kind not in _CAMERAS:
        notes.append(
            Message.format(
                "mesh.unknown_camera",
                "The camera type of this mesh is unknown; {camera} is used.",
                camera=_CAMERAS[0],
            )
        )
    return Camera(
        orthographic=kind == _CAMERAS[1],
        fov=_read_number(fields.get("fov"), 1, 170),
        near=_read_number(fields.get("near"), _MIN_VALUE, _MAX_VALUE),
        far=_read_number(fields.get("far"), _MIN_VALUE, _MAX_VALUE),
        position=_read_vector(fields.get("position")),
        look_at=_read_vector(fields.get("lookAt", fields.get("look_at"))),
        up=_read_vector(fields.get("up")),
    )


def _read_lights(rows: object, notes: list[Message]) -> list[Light]:
    lights: list[Light] = []
    for row in rows if isinstance(rows, list) else []:
        kind = _LIGHTS.get(str(row.get("cls"))) if isinstance(row, dict) else None
        if kind is None or len(lights) == _MAX_LIGHTS:
            notes.append(Message("mesh.lights", "Some lights of this mesh cannot be shown."))
            break
        intensity = _read_number(row.get("intensity"), 0, 100)
        lights.append(
            Light(
                kind,
                _read_color(row.get("color")) or "#ffffff",
                1.0 if intensity is None else intensity,
                _read_vector(row.get("position")),
            )
        )
    return lights


def _read_material(fields: Mapping[str, Any]) -> Material:
    kind = fields.get("cls")
    return Material(
        kind=kind if isinstance(kind, str) and kind.isalnum() and len(kind) < 40 else "",
        color=_read_color(fields.get("color")),
        size=_read_number(fields.get("size"), _MIN_VALUE, _MAX_VALUE),
        size_attenuation=fields.get("sizeAttenuation") is not False,
        opacity=_read_number(fields.get("opacity"), 0, 1),
        wireframe=fields.get("wireframe") is True,
        flat_shading=fields.get("flatShading") is True,
        roughness=_read_number(fields.get("roughness"), 0, 1),
        metalness=_read_number(fields.get("metalness"), 0, 1),
    )


def _read_number(value: object, low: float, high: float) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not _is_finite(value):
        return None
    return min(max(float(value), low), high)


def _read_vector(value: object) -> Vector | None:
    """Read three numbers, from a list or from the fields x, y and z."""
    if isinstance(value, dict):
        value = [value.get(axis) for axis in "xyz"]
    if not isinstance(value, list) or len(value) != 3:
        return None
    x, y, z = (_read_number(item, -_MAX_VALUE, _MAX_VALUE) for item in value)
    return None if x is None or y is None or z is None else (x, y, z)


def _read_color(value: object) -> str | None:
    """Read a color as three.js accepts it: a CSS color or an RGB number."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 0xFFFFFF:
        return f"#{value:06x}"
    if isinstance(value, str) and (_HEX_COLOR.fullmatch(value) or _NAMED_COLOR.fullmatch(value)):
        return value
    return None


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


# ---- whole meshes


@dataclass(frozen=True, eq=False)
class Mesh:
    """A batch of meshes at one step, as they were logged.

    Attributes:
        vertices: ``[batch, points, 3]``.
        faces: ``[batch, faces, 3]``, indexes of vertices; None for a point cloud.
        colors: ``[batch, points, 3]``; None if there are none.
        config: The three.js settings (camera, lights, material) logged with the mesh.
    """

    vertices: NDArray[Any]
    faces: NDArray[Any] | None = None
    colors: NDArray[Any] | None = None
    config: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        parts = {"vertices": self.vertices, "faces": self.faces, "colors": self.colors}
        shapes = [f"{name} {list(item.shape)}" for name, item in parts.items() if item is not None]
        return f"<Mesh: {', '.join(shapes)}>"


class MeshRows:
    """The steps at which any part of a mesh was logged."""

    def __init__(self, run: str, tag: str, steps: MeshSteps) -> None:
        self.run, self.tag = run, tag
        self._steps = steps
        self.step: Int64 = steps.step
        self.wall_time: Float64 = steps.wall_time
        self.overwritten: Bool = np.zeros(len(steps), np.bool_)

    def write_order(self) -> Int64:
        return np.arange(len(self._steps))


def read_mesh(catalog: Catalog, steps: MeshSteps, row: int) -> Mesh:
    """Read the mesh at one step, with the latest faces and colors logged until then."""
    parts = read_mesh_parts(
        lambda located, index: read_mesh_part(catalog, located, index), steps[row]
    )
    base = parts.get(MeshContent.VERTEX)
    if base is None:
        raise FormatError("the mesh has no vertices")
    faces, colors = parts.get(MeshContent.FACE), parts.get(MeshContent.COLOR)
    return Mesh(
        base.array,
        None if faces is None else faces.array,
        None if colors is None else colors.array,
        _parse_config(base.config),
    )


def _parse_config(text: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text.encode("utf-8", "replace"), type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):  # includes the empty text of most writers
        return {}
