"""Planets, drawn from formulas, as well as somebody who is still learning can."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracklight.types import Float32, Float64

_OCTAVES = 6
_WAVES = 5
#: Of sea, land and clouds, for each kind of planet.
_PALETTES = (
    ((0.05, 0.16, 0.40), (0.24, 0.52, 0.26), (0.96, 0.97, 1.00)),
    ((0.42, 0.15, 0.08), (0.85, 0.48, 0.24), (1.00, 0.88, 0.72)),
    ((0.10, 0.32, 0.42), (0.36, 0.72, 0.76), (0.88, 1.00, 0.98)),
    ((0.28, 0.20, 0.42), (0.72, 0.52, 0.80), (1.00, 0.90, 0.98)),
)


class Planet:
    """One planet; the same seed always gives the same."""

    def __init__(self, rng: np.random.Generator) -> None:
        octave = np.arange(_OCTAVES).repeat(_WAVES)
        direction = rng.normal(0, 1, (_OCTAVES * _WAVES, 3))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        waves = direction * (1.7 * 1.9 ** octave[:, np.newaxis])
        self._waves = waves.reshape(_OCTAVES, _WAVES, 3).astype(np.float32)
        self._phase = rng.uniform(0, 2 * np.pi, (_OCTAVES, _WAVES)).astype(np.float32)
        self._palette = np.array(_PALETTES[int(rng.integers(len(_PALETTES)))])
        light = np.array([rng.uniform(-0.8, -0.3), rng.uniform(-0.7, 0.1), 0.6])
        self._light = light / np.linalg.norm(light)
        self._stars = rng.random((24, 3))
        self._known: tuple[tuple[int, float], tuple[Float32, Float32]] | None = None

    def paint(self, size: int, skill: float, turned: float = 0.0) -> Float64:
        """Intensities [size, size, RGB]; ``skill`` from 0 to 1 says how fine the details are."""
        points = _make_sphere(size)
        x, y, _ = np.moveaxis(points, -1, 0)
        away = np.hypot(x, y)
        lit = 0.04 + 0.96 * np.clip(points @ self._light, 0, None) ** 0.8
        shown = lit[..., np.newaxis] * self._colour(size, skill, turned)
        glow = 0.6 * np.exp(-(((away - 1) / 0.09) ** 2)) * np.clip(-(x + y) / 2 + 0.45, 0, 1)
        sky = self._paint_sky(size, skill) + glow[..., np.newaxis] * self._palette[2]
        edge = np.clip((1 - away) * size / 2.5 + 0.5, 0, 1)
        return np.asarray(sky + (shown - sky) * edge[..., np.newaxis])

    def measure(self, size: int) -> NDArray[np.uint16]:
        """How far away each point of it is, in sixteen bits: near is bright."""
        z = _make_sphere(size)[..., 2]
        relief = _add_up(self._survey(size, 0.0)[0], 1.0)
        return np.asarray(np.clip(z * (52_000 + relief * 6_000), 0, 65_535), np.uint16)

    def _colour(self, size: int, skill: float, turned: float) -> Float64:
        height, high = (_add_up(waves, skill) for waves in self._survey(size, turned))
        sea, land, cloud = self._palette
        coast = np.clip(height * (1 + 7 * skill) + 0.5, 0, 1)[..., np.newaxis]
        veil = np.clip(high * 1.4 - 0.25, 0, 0.85)[..., np.newaxis]
        ground = sea + (land * (0.75 + 0.4 * height[..., np.newaxis]) - sea) * coast
        return np.asarray(ground + (cloud - ground) * veil * skill)

    def _survey(self, size: int, turned: float) -> tuple[Float32, Float32]:
        """Octaves of the ground and of the clouds above; most pictures are of one place."""
        if self._known is None or self._known[0] != (size, turned):
            points = _turn(_make_sphere(size), turned).astype(np.float32)
            surveys = self._measure_waves(points), self._measure_waves(points[..., ::-1] * 1.3)
            self._known = (size, turned), surveys
        return self._known[1]

    def _measure_waves(self, points: Float32) -> Float32:
        octaves = [
            0.58**octave * sum(np.sin(points @ w + p) for w, p in zip(waves, phases, strict=True))
            for octave, (waves, phases) in enumerate(zip(self._waves, self._phase, strict=True))
        ]
        return np.stack(octaves)

    def _paint_sky(self, size: int, skill: float) -> Float64:
        sky = np.tile((0.012, 0.014, 0.03), (size, size, 1))
        rows, columns, bright = self._stars.T
        place = (rows * size).astype(int), (columns * size).astype(int)
        sky[place] += (skill * bright**2)[:, np.newaxis]
        return sky


def _make_sphere(size: int) -> Float64:
    """Points [size, size, xyz] of a sphere seen from the front; beside it, z is 0."""
    line = np.linspace(-1.25, 1.25, size)
    x, y = np.meshgrid(line, line)
    return np.stack([x, y, np.sqrt(np.clip(1 - np.hypot(x, y) ** 2, 0, None))], -1)


def _turn(points: Float64, angle: float) -> Float64:
    x, y, z = np.moveaxis(points, -1, 0)
    cos, sin = np.cos(angle), np.sin(angle)
    return np.stack([x * cos + z * sin, y, z * cos - x * sin], -1)


def _add_up(octaves: Float32, skill: float) -> Float64:
    """Heights, from hills to what only who is skilled can see."""
    weights = np.clip(skill * (len(octaves) + 1) - np.arange(len(octaves)), 0, 1)
    return np.asarray(np.tensordot(weights, octaves, 1) / 2.2)
