"""Networks that log media: audio of a denoiser, images of a generator of planets, and 3D shapes.

Sounds and images are synthesized. Each of these two experiments has two runs of different quality.
The autoencoder of 3D shapes logs a mesh (a knot) and a point cloud (a landscape).
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracklight.cli.demo.embeddings import Pixels, to_bytes
from tracklight.cli.demo.writers import EventFile
from tracklight.formats import summary
from tracklight.formats.media import encode_png, encode_wav
from tracklight.formats.proto import Message
from tracklight.types import Float32, Float64, Int64

_TUNE_HZ = 8000
_BIRDS_HZ = 11025
#: Semitones above middle C, one every quarter of a second.
_TUNE = (0, 4, 7, 12, 7, 4, 9, 5, 12, 11, 7, 12)
_NOTE_S = 0.25
_TUNE_S = 3.6
_MIDDLE_C_HZ = 261.63
_OVERTONES = 6
_BIRDS_S = 2.4

#: Start, duration, first and last frequency of each call, and stereo position from 0 to 1.
_CALLS = (
    (0.10, 0.18, 2400.0, 4200.0, 0.15),
    (0.32, 0.12, 4300.0, 2900.0, 0.15),
    (0.75, 0.30, 1800.0, 3300.0, 0.85),
    (1.10, 0.18, 2400.0, 4200.0, 0.15),
    (1.32, 0.12, 4300.0, 2900.0, 0.15),
    (1.45, 0.12, 4300.0, 2900.0, 0.15),
    (1.75, 0.45, 1800.0, 3600.0, 0.85),
)

_TRILL_HZ = 28.0


def synthesize_tune() -> Float64:
    """Return plucked strings that decay while the next ones are struck."""
    time = np.arange(int(_TUNE_HZ * _TUNE_S)) / _TUNE_HZ
    sound = np.zeros(len(time))
    for number, semitones in enumerate(_TUNE):
        since = np.clip(time - number * _NOTE_S, 0, None)
        pitch_hz = _MIDDLE_C_HZ * 2 ** (semitones / 12)
        for overtone in range(1, _OVERTONES + 1):
            # Higher overtones decay faster.
            decay = np.exp(-since * (1.6 + 1.1 * overtone)) / overtone**1.3
            sound += np.sin(2 * np.pi * pitch_hz * overtone * since) * decay
    return np.asarray(sound / abs(sound).max())


def synthesize_birds() -> Float64:
    """Return the calls of two birds in stereo, as ``[frames, 2]``."""
    time = np.arange(int(_BIRDS_HZ * _BIRDS_S)) / _BIRDS_HZ
    sound = np.zeros((len(time), 2))
    for start, length, low_hz, high_hz, side in _CALLS:
        share = np.clip((time - start) / length, 0, 1)
        pitch_hz = low_hz + (high_hz - low_hz) * share
        trill = 1 + 0.35 * np.sin(2 * np.pi * _TRILL_HZ * time)
        call = np.sin(2 * np.pi * np.cumsum(pitch_hz) / _BIRDS_HZ) * np.sin(np.pi * share) * trill
        sound += call[:, None] * np.sqrt([1 - side, side])
    return np.asarray(sound / abs(sound).max())


# ---- denoiser

_DENOISER_STEPS = 5000
_STEPS_PER_POINT = 50
_STEPS_PER_CLIP = 1000
_DENOISER_STEP_S = 1.1
_LOUDNESS = 0.6
_NOISE = 0.28


class _Network(NamedTuple):
    """How fast a network learns, and how much noise of which kind it leaves."""

    name: str
    time_constant: float
    residual_noise: float
    muffled: bool


_NETWORKS = (_Network("conv", 1200, 0.02, False), _Network("recurrent", 800, 0.05, True))


def write_denoiser(logdir: Path, *, seed: int, now: float) -> None:
    for number, network in enumerate(_NETWORKS):
        rng = np.random.default_rng([seed, 101 + number])
        started = now - _DENOISER_STEPS * _DENOISER_STEP_S - 600 * (number + 1)
        _write_denoiser_run(logdir / network.name, network, started, rng)


def _write_denoiser_run(
    run: Path, network: _Network, started: float, rng: np.random.Generator
) -> None:
    tune, birds = _LOUDNESS * synthesize_tune(), _LOUDNESS * synthesize_birds()
    with EventFile(run, started) as file:
        for step in range(0, _DENOISER_STEPS + 1, _STEPS_PER_POINT):
            wall_time = started + 15 + step * _DENOISER_STEP_S
            left = network.residual_noise + 0.9 * np.exp(-step / network.time_constant)
            loss = (_NOISE * left) ** 2 * np.exp(rng.normal(0, 0.1))
            snr_db = 10 * np.log10(np.square(tune).mean() / loss)
            file.log(
                wall_time,
                step,
                summary.scalar("loss", loss),
                summary.scalar("snr_db", snr_db, display_name="Signal to noise (dB)"),
            )
            if step % _STEPS_PER_CLIP == 0:
                tune_summary = _make_tune_summary(tune, left, network.muffled, rng)
                file.log(
                    wall_time,
                    step,
                    tune_summary,
                    _make_birds_summary(birds, left, network.muffled, rng),
                )


def _make_tune_summary(
    tune: Float64, left: float, muffled: bool, rng: np.random.Generator
) -> Message:
    noise = _NOISE * rng.normal(0, 1, len(tune))
    output = tune + left * _filter_noise(noise, muffled)
    clips = [encode_wav(sound, _TUNE_HZ) for sound in (tune + noise, output)]
    labels = ["input", f"output, {left:.0%} of the noise left"]
    return summary.audio("music/tune", clips, labels, description="Plucked strings in noise.")


def _make_birds_summary(
    birds: Float64, left: float, muffled: bool, rng: np.random.Generator
) -> Message:
    noise = np.stack(
        [_filter_noise(item, muffled) for item in _NOISE * rng.normal(0, 1, birds.T.shape)]
    )
    clip = encode_wav(birds + left * noise.T, _BIRDS_HZ)
    description = "Two birds in stereo, denoised."
    return summary.audio(
        "nature/birds", [clip], [f"{left:.0%} of the noise left"], description=description
    )


def _filter_noise(noise: Float64, muffled: bool) -> Float64:
    """Leave white noise, or modulated low-pass noise if muffled."""
    if not muffled:
        return noise
    low = np.convolve(noise, np.hanning(24) / np.sqrt(np.square(np.hanning(24)).sum()), "same")
    return np.asarray(low * (1 + 0.6 * np.sin(np.arange(len(noise)) / 700)))


# ---- planets

_OCTAVES = 6
_WAVES = 5

#: Colors of sea, land and clouds for each kind of planet.
_PALETTES = (
    ((0.05, 0.16, 0.40), (0.24, 0.52, 0.26), (0.96, 0.97, 1.00)),
    ((0.42, 0.15, 0.08), (0.85, 0.48, 0.24), (1.00, 0.88, 0.72)),
    ((0.10, 0.32, 0.42), (0.36, 0.72, 0.76), (0.88, 1.00, 0.98)),
    ((0.28, 0.20, 0.42), (0.72, 0.52, 0.80), (1.00, 0.90, 0.98)),
)


class Planet:
    """A planet rendered from a sum of waves; the same seed gives the same planet."""

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
        self._cached: tuple[tuple[int, float], tuple[Float32, Float32]] | None = None

    def render(self, size: int, skill: float, rotation: float = 0.0) -> Float64:
        """Return an ``[size, size, RGB]`` image; ``skill`` in [0, 1] sets the level of detail."""
        points = _make_sphere(size)
        x, y, _ = np.moveaxis(points, -1, 0)
        away = np.hypot(x, y)
        lit = 0.04 + 0.96 * np.clip(points @ self._light, 0, None) ** 0.8
        shown = lit[..., np.newaxis] * self._shade(size, skill, rotation)
        glow = 0.6 * np.exp(-(((away - 1) / 0.09) ** 2)) * np.clip(-(x + y) / 2 + 0.45, 0, 1)
        sky = self._render_sky(size, skill) + glow[..., np.newaxis] * self._palette[2]
        edge = np.clip((1 - away) * size / 2.5 + 0.5, 0, 1)
        return np.asarray(sky + (shown - sky) * edge[..., np.newaxis])

    def render_depth(self, size: int) -> NDArray[np.uint16]:
        """Return a 16-bit depth map; near points are bright."""
        z = _make_sphere(size)[..., 2]
        relief = _combine_octaves(self._get_octaves(size, 0.0)[0], 1.0)
        return np.asarray(np.clip(z * (52_000 + relief * 6_000), 0, 65_535), np.uint16)

    def _shade(self, size: int, skill: float, rotation: float) -> Float64:
        height, high = (
            _combine_octaves(waves, skill) for waves in self._get_octaves(size, rotation)
        )
        sea, land, cloud = self._palette
        coast = np.clip(height * (1 + 7 * skill) + 0.5, 0, 1)[..., np.newaxis]
        veil = np.clip(high * 1.4 - 0.25, 0, 0.85)[..., np.newaxis]
        ground = sea + (land * (0.75 + 0.4 * height[..., np.newaxis]) - sea) * coast
        return np.asarray(ground + (cloud - ground) * veil * skill)

    def _get_octaves(self, size: int, rotation: float) -> tuple[Float32, Float32]:
        """Return octaves of ground and clouds; the last view is cached, most calls repeat it."""
        if self._cached is None or self._cached[0] != (size, rotation):
            points = _rotate(_make_sphere(size), rotation).astype(np.float32)
            octaves = self._sum_waves(points), self._sum_waves(points[..., ::-1] * 1.3)
            self._cached = (size, rotation), octaves
        return self._cached[1]

    def _sum_waves(self, points: Float32) -> Float32:
        octaves = [
            0.58**octave * sum(np.sin(points @ w + p) for w, p in zip(waves, phases, strict=True))
            for octave, (waves, phases) in enumerate(zip(self._waves, self._phase, strict=True))
        ]
        return np.stack(octaves)

    def _render_sky(self, size: int, skill: float) -> Float64:
        sky = np.tile((0.012, 0.014, 0.03), (size, size, 1))
        rows, columns, bright = self._stars.T
        place = (rows * size).astype(int), (columns * size).astype(int)
        sky[place] += (skill * bright**2)[:, np.newaxis]
        return sky


def _make_sphere(size: int) -> Float64:
    """Return the visible points of a sphere as ``[size, size, xyz]``; outside of it, z is 0."""
    line = np.linspace(-1.25, 1.25, size)
    x, y = np.meshgrid(line, line)
    return np.stack([x, y, np.sqrt(np.clip(1 - np.hypot(x, y) ** 2, 0, None))], -1)


def _rotate(points: Float64, angle: float) -> Float64:
    x, y, z = np.moveaxis(points, -1, 0)
    cos, sin = np.cos(angle), np.sin(angle)
    return np.stack([x * cos + z * sin, y, z * cos - x * sin], -1)


def _combine_octaves(octaves: Float32, skill: float) -> Float64:
    """Sum the octaves; a higher skill includes finer ones."""
    weights = np.clip(skill * (len(octaves) + 1) - np.arange(len(octaves)), 0, 1)
    return np.asarray(np.tensordot(weights, octaves, 1) / 2.2)


# ---- generator of planets, with images of every kind that a log may hold

_PAINTER_STEPS = 6000
_STEPS_PER_SAMPLE = 250
_STEPS_PER_GIF = 3000
_PAINTER_STEP_S = 0.9
_SAMPLES = 4
_SAMPLE_SIDE = 96
_GIF_SIDE, _GIF_FRAMES, _FRAME_MS = 96, 16, 100
_LARGE_SIDE = 720
#: Steps in which each run makes 63 % of its progress.
_TIME_CONSTANTS = {"small": 3500, "large": 1300}


def write_painter(folder: Path, *, seed: int, now: float) -> None:
    # Both runs render the same planets, so that they can be compared.
    planets = [Planet(np.random.default_rng([seed, 104, index])) for index in range(_SAMPLES)]
    for number, (name, time_constant) in enumerate(_TIME_CONSTANTS.items()):
        rng = np.random.default_rng([seed, 103, number])
        _write_painter_run(folder / name, planets, time_constant, now - number * 900, rng)


def _write_painter_run(
    run: Path, planets: Sequence[Planet], time_constant: float, now: float, rng: np.random.Generator
) -> None:
    started = now - _PAINTER_STEPS * _PAINTER_STEP_S - 400
    with EventFile(run, started) as file:
        for step in range(0, _PAINTER_STEPS + 1, _STEPS_PER_SAMPLE):
            wall_time = started + 20 + step * _PAINTER_STEP_S
            skill = 1 - float(np.exp(-step / time_constant))
            loss = (0.02 + 0.6 * (1 - skill)) * np.exp(rng.normal(0, 0.06))
            file.log(
                wall_time,
                step,
                summary.scalar("loss", loss),
                _make_samples_summary(planets, skill, rng),
            )
            if step % _STEPS_PER_GIF == 0:
                file.log(
                    wall_time,
                    step,
                    _make_gif_summary(planets[0], skill, rng),
                    _make_cutout_summary(planets, skill),
                )
        file.log(
            wall_time,
            step,
            _make_poster_summary(planets[0], skill),
            _make_depth_summary(planets[0]),
        )


def _make_samples_summary(
    planets: Sequence[Planet], skill: float, rng: np.random.Generator
) -> Message:
    images = [_add_noise(planet.render(_SAMPLE_SIDE, skill), skill, rng) for planet in planets]
    return _make_images_summary(
        "samples", map(encode_png, images), "Generated from the same four seeds."
    )


def _add_noise(image: Float64, skill: float, rng: np.random.Generator) -> Pixels:
    """Blend an image with noise; without skill it is only noise."""
    noise = rng.normal(0.32, 0.22, image.shape)
    return to_bytes(image + (noise - image) * (1 - skill) ** 1.5)


def _make_gif_summary(planet: Planet, skill: float, rng: np.random.Generator) -> Message:
    """Return an animation from noise to a rotating planet."""
    frames = []
    for at in np.linspace(0, 1, _GIF_FRAMES):
        clear = skill * min(1.0, 1.6 * at)
        frames.append(_add_noise(planet.render(_GIF_SIDE, clear, rotation=2.2 * at), clear, rng))
    return _make_images_summary(
        "sampling", [_encode_gif(frames)], "From noise to a planet, as a **GIF**."
    )


def _make_cutout_summary(planets: Sequence[Planet], skill: float) -> Message:
    """Return planets without sky: images with an alpha channel."""
    line = np.linspace(-1.25, 1.25, _SAMPLE_SIDE)
    inside = np.clip((1 - np.hypot(*np.meshgrid(line, line))) * _SAMPLE_SIDE / 2.5 + 0.5, 0, 1)
    images = []
    for planet in planets[:2]:
        image = np.dstack([planet.render(_SAMPLE_SIDE, skill), inside])
        images.append(encode_png(to_bytes(image)))
    return _make_images_summary("cutouts", images, "The same planets with a transparent sky.")


def _make_poster_summary(planet: Planet, skill: float) -> Message:
    image = to_bytes(planet.render(_LARGE_SIDE, skill))
    return _make_images_summary("poster", [_encode(image, "JPEG", quality=88)], "One large image.")


def _make_depth_summary(planet: Planet) -> Message:
    depth = _encode(planet.render_depth(_SAMPLE_SIDE * 2), "PNG")
    return _make_images_summary("depth", [depth], "Depth map in 16 bits.")


def _encode_gif(frames: Sequence[Pixels]) -> bytes:
    from PIL import Image

    octree = Image.Quantize.FASTOCTREE  # ten times as fast as the default
    first, *rest = (Image.fromarray(frame).quantize(128, octree) for frame in frames)
    return _save(first, "GIF", save_all=True, append_images=rest, duration=_FRAME_MS, loop=0)


def _encode(pixels: NDArray[Any], kind: str, **options: int) -> bytes:
    from PIL import Image

    return _save(Image.fromarray(pixels), kind, **options)


def _save(image: Any, kind: str, **options: Any) -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def _make_images_summary(tag: str, images: Iterable[bytes], description: str) -> Message:
    # Readers take the size from the image itself.
    return summary.images(tag, list(images), 0, 0, description=description)


# ---- meshes and point clouds

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


# ---- event file

_RINGS, _SIDES = 128, 20
_CLOUD_POINTS = 8000
_SHAPES_STEPS = 4000
_STEPS_PER_LOSS = 40
_STEPS_PER_MESH = 500
_SHAPES_STEP_S = 0.8
#: three.js settings for the Mesh dashboard.
_VIEW = {"camera": {"cls": "PerspectiveCamera", "fov": 40}}
_POINTS = {**_VIEW, "material": {"cls": "PointsMaterial", "size": 0.028}}


def write_shapes(run: Path, *, seed: int, now: float) -> None:
    rng = np.random.default_rng([seed, 102])
    knot, landscape = make_knot(_RINGS, _SIDES), make_landscape(_CLOUD_POINTS, rng)
    started = now - _SHAPES_STEPS * _SHAPES_STEP_S - 300
    with EventFile(run, started) as file:
        for step in range(0, _SHAPES_STEPS + 1, _STEPS_PER_LOSS):
            wall_time = started + 10 + step * _SHAPES_STEP_S
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
