"""Find the meshes of a log and join the series that each one is logged as.

A mesh is up to three series (vertices, faces and colors) that may have been logged at different
steps: `names` finds them, `moments` joins them by step and `reading` decodes one part. Both the
Mesh dashboard and `tracklight.open` read meshes through this package, so it must import neither.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.media.values import (
    SeriesSteps,
    StepsRequest,
    StepsResponse,
    ValueRequest,
    compute_fingerprints,
)
from tracklight.analysis.source import Context, Source
from tracklight.errors import FormatError, LogError
from tracklight.formats import proto, tensor
from tracklight.formats.proto import Message
from tracklight.formats.summary import MeshContent
from tracklight.formats.wire_format import decode_text
from tracklight.types import Float64, Int32, Int64, ValueLocations
from tracklight.util.lru_cache import LruCache

# Which series a mesh is made of: up to three, whose tags end in what they hold.

#: TensorFlow 1 counts at the end of a tag where two operations have one name.
_MESH_TAG = re.compile(r"(?P<name>.*)_(?P<part>VERTEX|FACE|COLOR)(?P<again>_\d+)?", re.DOTALL)

_NUMBERED_NAME = re.compile(r"(?P<name>.*)(?P<again>_\d+)", re.DOTALL)


def split_mesh_tag(tag: str) -> tuple[str, MeshContent]:
    """The mesh that a series belongs to and what it has of it; ``web/src/dashboards/mesh/join.ts``
    does the same."""
    found = _MESH_TAG.fullmatch(tag)
    if found is None:
        return tag, MeshContent.VERTEX
    return found["name"] + (found["again"] or ""), MeshContent[found["part"]]


def list_mesh_runs(log: Source, name: str) -> list[str]:
    """The runs that have any part of a mesh."""
    tags = [tag for part in MeshContent for tag in _iter_tags(name, part)]
    return list(dict.fromkeys(run for tag in tags for run in log.plugin_data(tag)))


def locate_mesh_parts(log: Source, run: str, name: str) -> dict[MeshContent, ValueLocations]:
    """Where the parts of a mesh stand that a run has."""
    found: dict[MeshContent, ValueLocations] = {}
    for part in MeshContent:
        for tag in _iter_tags(name, part):
            if part not in found and run in log.plugin_data(tag):
                found[part] = log.locate(run, tag)
    return found


def list_mesh_names(tags: Sequence[str]) -> list[str]:
    """The meshes that some series make up."""
    return list(dict.fromkeys(split_mesh_tag(tag)[0] for tag in tags))


def _iter_tags(name: str, part: MeshContent) -> Iterator[str]:
    yield f"{name}_{part.name}"
    counted = _NUMBERED_NAME.fullmatch(name)
    if counted is not None:
        yield f"{counted['name']}_{part.name}{counted['again']}"
    if part is MeshContent.VERTEX and _MESH_TAG.fullmatch(name) is None:
        yield name


# The steps of a mesh, whose parts may have been logged at different ones.

_NO_ROW = -1


@dataclass(frozen=True, slots=True)
class MeshSteps:
    """Every step at which any part was logged, each with the last of every part until then.

    So faces that are logged once hold for all later vertices, and colours that change over a
    mesh that does not are all seen.
    """

    parts: Mapping[MeshContent, ValueLocations]
    step: Int64
    wall_time: Float64
    mark: Int32
    rows: Mapping[MeshContent, Int32]
    """Which value of each part belongs to a moment; -1 where there is none yet."""

    def __len__(self) -> int:
        return len(self.step)

    def __getitem__(self, index: int) -> MeshStep:
        places = {
            part: (self.parts[part], int(rows[index]))
            for part, rows in self.rows.items()
            if rows[index] != _NO_ROW
        }
        return MeshStep(
            int(self.step[index]), float(self.wall_time[index]), int(self.mark[index]), places
        )


@dataclass(frozen=True, slots=True)
class MeshStep:
    """One mesh of one run at one step: where the value of each of its parts is."""

    step: int
    wall_time: float
    mark: int
    values: Mapping[MeshContent, tuple[ValueLocations, int]]


def list_mesh_steps(context: Context, ask: StepsRequest) -> StepsResponse:
    """When some meshes were logged, run by run."""
    cursor = context.cursor()
    series = []
    for name in ask.tags:
        having = list_mesh_runs(context.log, name)
        for run in having if ask.runs is None else [run for run in ask.runs if run in having]:
            moments = join_mesh_parts(locate_mesh_parts(context.log, run, name))
            if len(moments):
                index = np.arange(len(moments), dtype=np.int32)
                columns = index, moments.step, moments.wall_time, moments.mark
                series.append(SeriesSteps(run, name, *columns))
    return StepsResponse(cursor, series)


def get_mesh_step(log: Source, ask: ValueRequest) -> MeshStep:
    """The moment that an ask names: by its mark if it has one, as places move when a run starts
    over."""
    moments = join_mesh_parts(locate_mesh_parts(log, ask.run, ask.tag))
    index: int | None = ask.index
    if ask.mark is not None and (ask.index >= len(moments) or moments.mark[ask.index] != ask.mark):
        found = np.flatnonzero(moments.mark == ask.mark)
        index = int(found[0]) if len(found) else None
    if index is None or index >= len(moments):
        raise LogError(f'the log no longer has this step of "{ask.tag}"; load the page again')
    return moments[index]


def join_mesh_parts(parts: Mapping[MeshContent, ValueLocations]) -> MeshSteps:
    """The moments of a mesh; none before its first vertices, if it has any."""
    orders = {part: _sort_current(located) for part, located in parts.items()}
    steps = [parts[part].step[order] for part, order in orders.items()]
    step = np.unique(np.concatenate([np.zeros(0, np.int64), *steps]))
    if len(orders.get(MeshContent.VERTEX, ())):
        step = step[step >= parts[MeshContent.VERTEX].step[orders[MeshContent.VERTEX][0]]]
    rows = {part: _find_rows(parts[part].step, order, step) for part, order in orders.items()}
    wall_time = np.zeros(len(step))
    mark = np.zeros(len(step), np.int64)
    for part, own in rows.items():
        located, there = parts[part], own != _NO_ROW
        marks = np.where(there, compute_fingerprints(located)[own], 0) if len(located) else 0
        mark = (mark * 31 + marks + there) & 0x7FFFFFFF
        fresh = there & (located.step[own] == step) if len(located) else there
        wall_time = np.where(fresh & (wall_time == 0), _take(located.wall_time, own), wall_time)
    return MeshSteps(parts, step, wall_time, mark.astype(np.int32), rows)


def _sort_current(located: ValueLocations) -> Int32:
    """The values that hold, by their steps; of several at one step the last one counts."""
    current = np.flatnonzero(~located.overwritten)
    order: Int32 = current[np.argsort(located.step[current], kind="stable")].astype(np.int32)
    return order


def _find_rows(steps: Int64, order: Int32, at: Int64) -> Int32:
    last = np.searchsorted(steps[order], at, side="right") - 1
    return np.where(last < 0, _NO_ROW, _take(order, last)).astype(np.int32)


def _take(column: Float64 | Int32, rows: Int64 | Int32) -> Float64 | Int32:
    """Of an empty column nothing is taken, whatever is asked for."""
    return column[rows] if len(column) else np.zeros(len(rows), column.dtype)


# Reads what was logged of one part of a mesh.

_MAX_CACHE_BYTES = 96 << 20

#: 20 million points of 12 bytes are more than any screen has pixels for.
_MAX_PART_BYTES = 240_000_000


@dataclass(frozen=True, eq=False)
class MeshPart:
    """The numbers of a part, and what its writer said about the whole mesh."""

    step: int
    array: NDArray[Any]
    config: str
    components: int
    """A bit for each part that the mesh is made of; 0 if the writer did not say."""


def read_mesh_part(log: Source, located: ValueLocations, index: int) -> MeshPart:
    """Read and decode one part of a mesh, such as its vertices.

    Raises:
        FormatError: The value is not a tensor, or is too large to be decoded.
    """
    value = proto.parse("Value", log.read(located, index))
    if not value.HasField("tensor"):
        raise FormatError(f'the value of "{located.tag}" is no tensor')
    own = _parse_plugin_data(value.metadata.plugin_data.content)
    # Only the first value of a tag must have metadata. Its settings hold for later values too, but
    # which parts belong to a later value is then unknown.
    first = _parse_plugin_data(log.plugin_data(located.tag).get(located.run, b""))
    return MeshPart(
        step=int(located.step[index]),
        array=tensor.decode_tensor(value.tensor, max_bytes=_MAX_PART_BYTES),
        config=decode_text(own.json_config or first.json_config),
        components=own.components,
    )


def read_mesh_parts(
    read: Callable[[ValueLocations, int], MeshPart], mesh_step: MeshStep
) -> dict[MeshContent, MeshPart]:
    """Read all parts of a mesh at one step, without those that its vertices do not list."""
    logged = {part: read(*place) for part, place in mesh_step.values.items()}
    base = logged.get(MeshContent.VERTEX)
    if base is not None and base.components:
        logged = {part: one for part, one in logged.items() if base.components & (1 << part)}
        logged[MeshContent.VERTEX] = base
    return logged


class MeshPartReader:
    """Read parts of meshes through an LRU cache of bounded size. Thread-safe."""

    def __init__(self, context: Context) -> None:
        self._log = context.log
        self._parts: LruCache[tuple[str, str, int, int], MeshPart] = LruCache(
            max_bytes=_MAX_CACHE_BYTES
        )

    def read(self, located: ValueLocations, index: int) -> MeshPart:
        key = (located.run, located.tag, index, int(compute_fingerprints(located)[index]))
        found = self._parts.find(key)
        if found is None:
            found = read_mesh_part(self._log, located, index)
            self._parts.put(key, found, found.array.nbytes + len(found.config))
        return found


def _parse_plugin_data(content: bytes) -> Message:
    try:
        return proto.parse("MeshPluginData", content)
    except FormatError:
        return proto.MeshPluginData()


# How a mesh asks to be looked at: the three.js settings that writers may log with it.
#
# Only what is understood is handed on, with numbers that are finite and colours that are colours, so
# that the page need not fear what stands in a log.

_MAX_CONFIG_CHARS = 64 << 10

_MAX_LIGHTS = 8

#: Beyond these a graphics card calculates nonsense.
_MIN_VALUE, _MAX_VALUE = 1e-12, 1e12

_HEX_COLOR = re.compile(r"#([0-9a-fA-F]{3}|[0-9a-fA-F]{6})")

_NAMED_COLOR = re.compile(r"[a-z]{3,24}")

_LIGHTS = {
    "AmbientLight": "ambient",
    "HemisphereLight": "ambient",
    "DirectionalLight": "directional",
    "PointLight": "point",
    "SpotLight": "point",
}

_CAMERAS = ("PerspectiveCamera", "OrthographicCamera")


class Camera(msgspec.Struct, omit_defaults=True):
    """Where to look from, in the coordinates of the mesh; ``fov`` in degrees."""

    orthographic: bool = False
    fov: float | None = None
    near: float | None = None
    far: float | None = None
    position: list[float] | None = None
    look_at: list[float] | None = None
    up: list[float] | None = None


class Light(msgspec.Struct, omit_defaults=True):
    """A light: ``ambient``, ``directional`` or ``point``; the colour as CSS has it."""

    kind: str
    color: str = "#ffffff"
    intensity: float = 1.0
    position: list[float] | None = None


class Material(msgspec.Struct, omit_defaults=True):
    """What the surface or the points are made of; ``size`` is that of a point, in the coordinates
    of the mesh, or in pixels where ``size_attenuation`` is false."""

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
    """What the writer of a mesh asked for."""

    camera: Camera | None = None
    lights: list[Light] = []
    material: Material | None = None


def parse_scene_config(config: str, notes: list[str]) -> SceneConfig:
    """The settings in a JSON text; what cannot be used of them is told."""
    if not config.strip():
        return SceneConfig()
    fields = _parse_json_object(config)
    if fields is None:
        notes.append("The settings logged with it are no JSON object and were not used.")
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


def _read_camera(fields: Mapping[str, Any], notes: list[str]) -> Camera:
    kind = fields.get("cls", _CAMERAS[0])
    if kind not in _CAMERAS:
        notes.append("The camera logged with it is of no kind that is known here.")
    return Camera(
        orthographic=kind == _CAMERAS[1],
        fov=_read_number(fields.get("fov"), 1, 170),
        near=_read_number(fields.get("near"), _MIN_VALUE, _MAX_VALUE),
        far=_read_number(fields.get("far"), _MIN_VALUE, _MAX_VALUE),
        position=_read_triple(fields.get("position")),
        look_at=_read_triple(fields.get("lookAt", fields.get("look_at"))),
        up=_read_triple(fields.get("up")),
    )


def _read_lights(rows: object, notes: list[str]) -> list[Light]:
    lights: list[Light] = []
    for row in rows if isinstance(rows, list) else []:
        kind = _LIGHTS.get(str(row.get("cls"))) if isinstance(row, dict) else None
        if kind is None or len(lights) == _MAX_LIGHTS:
            notes.append("Not all lights logged with it can be shown.")
            break
        intensity = _read_number(row.get("intensity"), 0, 100)
        lights.append(
            Light(
                kind,
                _read_color(row.get("color")) or "#ffffff",
                1.0 if intensity is None else intensity,
                _read_triple(row.get("position")),
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


def _read_triple(value: object) -> list[float] | None:
    """Three numbers, as a list or by the names x, y and z."""
    if isinstance(value, dict):
        value = [value.get(axis) for axis in "xyz"]
    if not isinstance(value, list) or len(value) != 3:
        return None
    numbers = [_read_number(one, -_MAX_VALUE, _MAX_VALUE) for one in value]
    return None if None in numbers else [float(one) for one in numbers if one is not None]


def _read_color(value: object) -> str | None:
    """A colour as three.js takes it: CSS, or a number of red, green and blue."""
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
