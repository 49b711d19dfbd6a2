"""An autoencoder of solid shapes: a knot that it learns to rebuild, and a scanned landscape."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tracklight.demo.eventfile import EventFile
from tracklight.demo.glyphs import Pixels, to_bytes
from tracklight.demo.solids import Cloud, Tube, make_knot, make_landscape
from tracklight.formats import summary
from tracklight.formats.proto import Message
from tracklight.types import Float64

_RINGS, _SIDES = 128, 20
_CLOUD_POINTS = 8000
_STEPS = 4000
_STEPS_PER_POINT = 40
_STEPS_PER_MESH = 500
_SECONDS_PER_STEP = 0.8

#: three.js settings that readers hand on to what draws for them.
_VIEW = {"camera": {"cls": "PerspectiveCamera", "fov": 40}}
_POINTS = {**_VIEW, "material": {"cls": "PointsMaterial", "size": 0.028}}


def write_shapes(run: Path, *, seed: int, now: float) -> None:
    rng = np.random.default_rng([seed, 102])
    knot, landscape = make_knot(_RINGS, _SIDES), make_landscape(_CLOUD_POINTS, rng)
    started = now - _STEPS * _SECONDS_PER_STEP - 300
    with EventFile(run, started) as file:
        for step in range(0, _STEPS + 1, _STEPS_PER_POINT):
            wall_time = started + 10 + step * _SECONDS_PER_STEP
            error = 0.01 + 0.35 * np.exp(-step / 900)
            loss = error * np.exp(rng.normal(0, 0.08))
            file.log(wall_time, step, summary.scalar("chamfer_distance", loss))
            if step % _STEPS_PER_MESH == 0:
                rebuilt = _rebuild_knot(knot, error, rng) + _blur_scan(landscape, error, rng)
                file.log(wall_time, step, *rebuilt)
                codes = rng.normal(0, 1 + 2 * (1 - error), (8, 16)).astype(np.float32)
                file.log(wall_time, step, summary.tensor("latent/codes", codes))


def _rebuild_knot(knot: Tube, error: float, rng: np.random.Generator) -> list[Message]:
    """A bumpy knot, coloured from blue (right) to red (far off)."""
    bump = error * rng.normal(0, 0.22, (len(knot.vertices), 1))
    vertices = (knot.vertices + bump * knot.outwards)[np.newaxis]
    colors = _color_by_error(abs(bump).reshape(1, -1) / 0.09)
    return summary.mesh("knot", vertices, knot.faces[np.newaxis], colors, config=_VIEW)


def _blur_scan(scan: Cloud, error: float, rng: np.random.Generator) -> list[Message]:
    """A landscape that lies in ever less of a fog."""
    points = scan.points + error * rng.normal(0, 0.35, scan.points.shape)
    colors = to_bytes(scan.colors)[np.newaxis]
    return summary.mesh("landscape", points[np.newaxis], colors=colors, config=_POINTS)


def _color_by_error(error: Float64) -> Pixels:
    share = np.clip(error, 0, 1)[..., np.newaxis]
    blue, red = np.array([0.2, 0.45, 0.95]), np.array([0.95, 0.25, 0.2])
    return to_bytes(blue + (red - blue) * share)
