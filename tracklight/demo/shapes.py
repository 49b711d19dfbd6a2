"""An autoencoder of solid shapes: a torus that it learns to rebuild, and a cloud of points."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tracklight.demo.eventfile import EventFile
from tracklight.demo.glyphs import Pixels, to_bytes
from tracklight.formats import summary
from tracklight.formats.proto import Message
from tracklight.types import Float64, Int64

_RINGS, _SIDES = 40, 20
_CLOUD_POINTS = 900
_STEPS = 4000
_STEPS_PER_POINT = 40
_STEPS_PER_MESH = 500
_SECONDS_PER_STEP = 0.8

#: three.js settings that readers hand on to their camera.
_VIEW = {"camera": {"cls": "PerspectiveCamera", "fov": 60}}


def write_shapes(run: Path, *, seed: int, now: float) -> None:
    rng = np.random.default_rng([seed, 102])
    started = now - _STEPS * _SECONDS_PER_STEP - 300
    with EventFile(run, started) as file:
        for step in range(0, _STEPS + 1, _STEPS_PER_POINT):
            wall_time = started + 10 + step * _SECONDS_PER_STEP
            error = 0.01 + 0.35 * np.exp(-step / 900)
            loss = error * np.exp(rng.normal(0, 0.08))
            file.log(wall_time, step, summary.scalar("chamfer_distance", loss))
            if step % _STEPS_PER_MESH == 0:
                file.log(wall_time, step, *_rebuild_torus(error, rng), *_scatter_sphere(error, rng))
                codes = rng.normal(0, 1 + 2 * (1 - error), (8, 16)).astype(np.float32)
                file.log(wall_time, step, summary.tensor("latent/codes", codes))


def _rebuild_torus(error: float, rng: np.random.Generator) -> list[Message]:
    """A bumpy torus, coloured from blue (right) to red (far off)."""
    around, about = np.meshgrid(
        np.arange(_RINGS) * 2 * np.pi / _RINGS,
        np.arange(_SIDES) * 2 * np.pi / _SIDES,
        indexing="ij",
    )
    bump = error * rng.normal(0, 1, around.shape) * 0.5
    tube = 0.4 + bump
    reach = 1.0 + tube * np.cos(about)
    vertices = np.stack(
        [reach * np.cos(around), reach * np.sin(around), tube * np.sin(about)], axis=-1
    ).reshape(1, -1, 3)
    colors = _color_by_error(abs(bump).reshape(1, -1) / 0.2)
    return summary.mesh("torus", vertices, _connect_grid()[np.newaxis], colors, config=_VIEW)


def _scatter_sphere(error: float, rng: np.random.Generator) -> list[Message]:
    points = rng.normal(0, 1, (_CLOUD_POINTS, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    off = error * abs(rng.normal(0, 1, (_CLOUD_POINTS, 1)))
    colors = _color_by_error(off.reshape(1, -1) / 0.5)
    return summary.mesh("sphere_points", (points * (1 + off))[np.newaxis], colors=colors)


def _connect_grid() -> Int64:
    """Two triangles for each cell of the torus' grid, which is closed both ways."""
    ring, side = np.meshgrid(np.arange(_RINGS), np.arange(_SIDES), indexing="ij")
    next_ring, next_side = (ring + 1) % _RINGS, (side + 1) % _SIDES
    corners: list[NDArray[np.int64]] = [
        ring * _SIDES + side,
        next_ring * _SIDES + side,
        next_ring * _SIDES + next_side,
        ring * _SIDES + next_side,
    ]
    one, two, three, four = (corner.ravel() for corner in corners)
    return np.concatenate([np.stack([one, two, three], 1), np.stack([one, three, four], 1)])


def _color_by_error(error: Float64) -> Pixels:
    share = np.clip(error, 0, 1)[..., np.newaxis]
    blue, red = np.array([0.2, 0.45, 0.95]), np.array([0.95, 0.25, 0.2])
    return to_bytes(blue + (red - blue) * share)
