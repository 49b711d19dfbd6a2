"""An autoencoder of 3D shapes, which logs a mesh (a knot) and a point cloud (a landscape)."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracklight.cli.demo.embeddings import Pixels, to_bytes
from tracklight.cli.demo.writers import EventFile
from tracklight.formats import summary
from tracklight.formats.proto import Message
from tracklight.types import Float64, Int64

_WATER, _GRASS, _ROCK, _SNOW = (
    np.array(shade) / 255
    for shade in ([64, 120, 190], [104, 156, 78], [128, 112, 98], [238, 242, 246])
)

_LEAVES, _WALL, _ROOF = (
    np.array(shade) / 255 for shade in ([44, 98, 58], [214, 196, 164], [176, 66, 52])
)

_LAKE_HEIGHT = -0.12
_TREES = 26


class Tube(NamedTuple):
    """The mesh of a tube around a closed curve; ``outwards`` are the vertex normals."""

    vertices: Float64
    outwards: Float64
    faces: Int64


class Cloud(NamedTuple):
    """Points with colors from 0 to 1."""

    points: Float64
    colors: Float64


def make_knot(rings: int, sides: int) -> Tube:
    """Return a tube along a trefoil knot."""
    turn = np.arange(rings) * 2 * np.pi / rings
    center = _trefoil(turn)
    along = _unit(_trefoil(turn + 1e-3) - _trefoil(turn - 1e-3))
    bend = _trefoil(turn + 1e-2) - 2 * center + _trefoil(turn - 1e-2)
    first = _unit(np.cross(along, bend))
    second = np.cross(along, first)
    angle = (np.arange(sides) * 2 * np.pi / sides)[:, np.newaxis]
    outwards = (
        np.cos(angle) * first[:, np.newaxis] + np.sin(angle) * second[:, np.newaxis]
    ).reshape(-1, 3)
    vertices = np.repeat(center, sides, axis=0) + 0.2 * outwards
    return Tube(vertices, outwards, _connect(rings, sides))


def make_landscape(count: int, rng: np.random.Generator) -> Cloud:
    """Return hills around a lake, with trees and a house, as scanned from above."""
    ground = _scan_ground(int(0.72 * count), rng)
    trees = [_scan_tree(int(0.2 * count) // _TREES, rng) for _ in range(_TREES)]
    house = _scan_house(int(0.08 * count), rng)
    parts = [ground, *trees, house]
    return Cloud(
        np.concatenate([part.points for part in parts]),
        np.concatenate([part.colors for part in parts]),
    )


def _trefoil(turn: Float64) -> Float64:
    columns = [
        np.sin(turn) + 2 * np.sin(2 * turn),
        np.cos(turn) - 2 * np.cos(2 * turn),
        -np.sin(3 * turn),
    ]
    return np.stack(columns, axis=1) / 3


def _unit(vectors: Float64) -> Float64:
    unit: Float64 = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


def _connect(rings: int, sides: int) -> Int64:
    """Return two triangles for each cell of a grid that wraps around in both directions."""
    ring, side = np.meshgrid(np.arange(rings), np.arange(sides), indexing="ij")
    next_ring, next_side = (ring + 1) % rings, (side + 1) % sides
    corners: list[NDArray[np.int64]] = [
        ring * sides + side,
        next_ring * sides + side,
        next_ring * sides + next_side,
        ring * sides + next_side,
    ]
    one, two, three, four = (corner.ravel() for corner in corners)
    return np.concatenate([np.stack([one, two, three], 1), np.stack([one, three, four], 1)])


def _height(x: Float64, z: Float64) -> Float64:
    hills = 0.34 * np.sin(2.1 * x + 0.6) * np.cos(1.7 * z) + 0.14 * np.sin(4.3 * z + 2 * x)
    peak = 0.62 * np.exp(-6 * ((x + 0.55) ** 2 + (z + 0.5) ** 2))
    rough: Float64 = 0.025 * np.sin(17 * x) * np.sin(13 * z)
    return hills + peak + rough


def _scan_ground(count: int, rng: np.random.Generator) -> Cloud:
    x, z = rng.uniform(-1, 1, (2, count))
    height = _height(x, z)
    rock = np.clip((height - 0.22) / 0.16, 0, 1)[:, np.newaxis]
    snow = np.clip((height - 0.52) / 0.1, 0, 1)[:, np.newaxis]
    colors = _GRASS + (_ROCK - _GRASS) * rock
    colors = colors + (_SNOW - colors) * snow
    colors = np.where((height < _LAKE_HEIGHT)[:, np.newaxis], _WATER, colors)
    colors = colors * rng.uniform(0.86, 1.0, (count, 1))
    points = np.stack([x, np.maximum(height, _LAKE_HEIGHT), z], axis=1)
    return Cloud(points, colors)


def _scan_tree(count: int, rng: np.random.Generator) -> Cloud:
    """Return a cone at a random place that is neither water nor rock."""
    while True:
        x, z = rng.uniform(-0.95, 0.95, 2)
        if _LAKE_HEIGHT + 0.03 < _height(x, z) < 0.2:
            break
    tree_height = rng.uniform(0.1, 0.2)
    share = np.sqrt(rng.uniform(0, 1, count))
    angle = rng.uniform(0, 2 * np.pi, count)
    radius = 0.34 * tree_height * share
    points = np.stack(
        [
            x + radius * np.cos(angle),
            _height(x, z) + tree_height * (1 - share),
            z + radius * np.sin(angle),
        ],
        axis=1,
    )
    return Cloud(points, _LEAVES * rng.uniform(0.7, 1.15, (count, 1)))


def _scan_house(count: int, rng: np.random.Generator) -> Cloud:
    x, z = 0.45, 0.4
    floor = max(float(_height(np.array(x), np.array(z))), _LAKE_HEIGHT)
    walls = int(0.6 * count)
    along = rng.uniform(-0.11, 0.11, (count, 2))
    is_front = rng.uniform(0, 1, walls) < 0.5
    edge = rng.choice([-0.11, 0.11], walls)
    along[:walls, 0] = np.where(is_front, along[:walls, 0], edge)
    along[:walls, 1] = np.where(is_front, edge, along[:walls, 1])
    height = np.empty(count)
    height[:walls] = rng.uniform(0, 0.14, walls)
    height[walls:] = 0.24 - 0.9 * np.abs(along[walls:, 0])
    colors = np.where(np.arange(count)[:, np.newaxis] < walls, _WALL, _ROOF)
    points = np.stack([x + along[:, 0], floor + height, z + along[:, 1]], axis=1)
    return Cloud(points, colors * rng.uniform(0.85, 1.0, (count, 1)))


# --- Event file ---

_RINGS, _SIDES = 128, 20
_CLOUD_POINTS = 8000
_STEPS = 4000
_STEPS_PER_POINT = 40
_STEPS_PER_MESH = 500
_SECONDS_PER_STEP = 0.8
#: three.js settings for the Mesh dashboard.
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
                reconstructed = _reconstruct_knot(knot, error, rng) + _reconstruct_landscape(
                    landscape, error, rng
                )
                file.log(wall_time, step, *reconstructed)
                codes = rng.normal(0, 1 + 2 * (1 - error), (8, 16)).astype(np.float32)
                file.log(wall_time, step, summary.tensor("latent/codes", codes))


def _reconstruct_knot(knot: Tube, error: float, rng: np.random.Generator) -> list[Message]:
    """Return a knot with errors, colored from blue (exact) to red (far off)."""
    offset = error * rng.normal(0, 0.22, (len(knot.vertices), 1))
    vertices = (knot.vertices + offset * knot.outwards)[np.newaxis]
    colors = _color_by_error(abs(offset).reshape(1, -1) / 0.09)
    return summary.mesh("knot", vertices, knot.faces[np.newaxis], colors, config=_VIEW)


def _reconstruct_landscape(scan: Cloud, error: float, rng: np.random.Generator) -> list[Message]:
    """Return the landscape with noise that decreases with the error."""
    points = scan.points + error * rng.normal(0, 0.35, scan.points.shape)
    colors = to_bytes(scan.colors)[np.newaxis]
    return summary.mesh("landscape", points[np.newaxis], colors=colors, config=_POINTS)


def _color_by_error(error: Float64) -> Pixels:
    share = np.clip(error, 0, 1)[..., np.newaxis]
    blue, red = np.array([0.2, 0.45, 0.95]), np.array([0.95, 0.25, 0.2])
    return to_bytes(blue + (red - blue) * share)
