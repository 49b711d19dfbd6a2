"""How a mesh asks to be looked at: the three.js settings that writers may log with it.

Only what is understood is handed on, with numbers that are finite and colours that are colours, so
that the page need not fear what stands in a log.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import msgspec

_MOST_CHARACTERS = 64 << 10
_MOST_LIGHTS = 8
#: Beyond these a graphics card calculates nonsense.
_SMALLEST, _LARGEST = 1e-12, 1e12

_HEX = re.compile(r"#([0-9a-fA-F]{3}|[0-9a-fA-F]{6})")
_NAME = re.compile(r"[a-z]{3,24}")
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


class Look(msgspec.Struct, omit_defaults=True):
    """What the writer of a mesh asked for."""

    camera: Camera | None = None
    lights: list[Light] = []
    material: Material | None = None


def read_look(config: str, notes: list[str]) -> Look:
    """The settings in a JSON text; what cannot be used of them is told."""
    if not config.strip():
        return Look()
    fields = _parse(config)
    if fields is None:
        notes.append("The settings logged with it are no JSON object and were not used.")
        return Look()
    camera, material = fields.get("camera"), fields.get("material")
    return Look(
        _read_camera(camera, notes) if isinstance(camera, dict) else None,
        _read_lights(fields.get("lights"), notes),
        _read_material(material) if isinstance(material, dict) else None,
    )


def _parse(config: str) -> dict[str, Any] | None:
    if len(config) > _MOST_CHARACTERS:
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
        near=_read_number(fields.get("near"), _SMALLEST, _LARGEST),
        far=_read_number(fields.get("far"), _SMALLEST, _LARGEST),
        position=_read_triple(fields.get("position")),
        look_at=_read_triple(fields.get("lookAt", fields.get("look_at"))),
        up=_read_triple(fields.get("up")),
    )


def _read_lights(rows: object, notes: list[str]) -> list[Light]:
    lights: list[Light] = []
    for row in rows if isinstance(rows, list) else []:
        kind = _LIGHTS.get(str(row.get("cls"))) if isinstance(row, dict) else None
        if kind is None or len(lights) == _MOST_LIGHTS:
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
        size=_read_number(fields.get("size"), _SMALLEST, _LARGEST),
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
    numbers = [_read_number(one, -_LARGEST, _LARGEST) for one in value]
    return None if None in numbers else [float(one) for one in numbers if one is not None]


def _read_color(value: object) -> str | None:
    """A colour as three.js takes it: CSS, or a number of red, green and blue."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 0xFFFFFF:
        return f"#{value:06x}"
    if isinstance(value, str) and (_HEX.fullmatch(value) or _NAME.fullmatch(value)):
        return value
    return None


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False
