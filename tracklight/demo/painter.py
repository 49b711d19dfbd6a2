"""Two networks that learn to paint planets: pictures of every sort that a log may hold."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.demo.eventfile import EventFile
from tracklight.demo.glyphs import Pixels, to_bytes
from tracklight.demo.planets import Planet
from tracklight.formats import summary
from tracklight.formats.png import encode_png
from tracklight.formats.proto import Message
from tracklight.types import Float64

_STEPS = 6000
_STEPS_PER_SAMPLE = 250
_STEPS_PER_FILM = 3000
_SECONDS_PER_STEP = 0.9
_SAMPLES = 4
_SAMPLE_SIDE = 96
_FILM_SIDE, _FILM_FRAMES, _FRAME_MS = 96, 16, 100
_LARGE_SIDE = 720

#: How many steps each takes to get about two thirds of the way.
_PACES = {"small": 3500, "large": 1300}


def write_painter(folder: Path, *, seed: int, now: float) -> None:
    # Both paint the same planets, so that they can be compared.
    planets = [Planet(np.random.default_rng([seed, 104, index])) for index in range(_SAMPLES)]
    for number, (name, pace) in enumerate(_PACES.items()):
        rng = np.random.default_rng([seed, 103, number])
        _write_run(folder / name, planets, pace, now - number * 900, rng)


def _write_run(
    run: Path, planets: Sequence[Planet], pace: float, now: float, rng: np.random.Generator
) -> None:
    started = now - _STEPS * _SECONDS_PER_STEP - 400
    with EventFile(run, started) as file:
        for step in range(0, _STEPS + 1, _STEPS_PER_SAMPLE):
            wall_time = started + 20 + step * _SECONDS_PER_STEP
            skill = 1 - float(np.exp(-step / pace))
            loss = (0.02 + 0.6 * (1 - skill)) * np.exp(rng.normal(0, 0.06))
            file.log(wall_time, step, summary.scalar("loss", loss), _sample(planets, skill, rng))
            if step % _STEPS_PER_FILM == 0:
                file.log(wall_time, step, _film(planets[0], skill, rng), _cut_out(planets, skill))
        file.log(wall_time, step, _paint_large(planets[0], skill), _measure(planets[0]))


def _sample(planets: Sequence[Planet], skill: float, rng: np.random.Generator) -> Message:
    pictures = [_try(planet.paint(_SAMPLE_SIDE, skill), skill, rng) for planet in planets]
    return _show("samples", map(encode_png, pictures), "What it paints from the same four seeds.")


def _try(picture: Float64, skill: float, rng: np.random.Generator) -> Pixels:
    """Who knows nothing yet paints noise."""
    noise = rng.normal(0.32, 0.22, picture.shape)
    return to_bytes(picture + (noise - picture) * (1 - skill) ** 1.5)


def _film(planet: Planet, skill: float, rng: np.random.Generator) -> Message:
    """How one picture comes about, and the planet then turns."""
    frames = []
    for at in np.linspace(0, 1, _FILM_FRAMES):
        clear = skill * min(1.0, 1.6 * at)
        frames.append(_try(planet.paint(_FILM_SIDE, clear, turned=2.2 * at), clear, rng))
    return _show("sampling", [_encode_film(frames)], "From noise to a planet, as a **GIF**.")


def _cut_out(planets: Sequence[Planet], skill: float) -> Message:
    """Planets without their sky: pictures with an alpha channel."""
    line = np.linspace(-1.25, 1.25, _SAMPLE_SIDE)
    inside = np.clip((1 - np.hypot(*np.meshgrid(line, line))) * _SAMPLE_SIDE / 2.5 + 0.5, 0, 1)
    pictures = []
    for planet in planets[:2]:
        picture = np.dstack([planet.paint(_SAMPLE_SIDE, skill), inside])
        pictures.append(encode_png(to_bytes(picture)))
    return _show("cutouts", pictures, "The same without their sky.")


def _paint_large(planet: Planet, skill: float) -> Message:
    picture = to_bytes(planet.paint(_LARGE_SIDE, skill))
    return _show("poster", [_encode(picture, "JPEG", quality=88)], "One large picture.")


def _measure(planet: Planet) -> Message:
    depth = _encode(planet.measure(_SAMPLE_SIDE * 2), "PNG")
    return _show("depth", [depth], "How far away it is, in 16 bits.")


def _encode_film(frames: Sequence[Pixels]) -> bytes:
    from PIL import Image

    octree = Image.Quantize.FASTOCTREE  # the usual way takes ten times as long
    first, *rest = (Image.fromarray(frame).quantize(128, octree) for frame in frames)
    return _save(first, "GIF", save_all=True, append_images=rest, duration=_FRAME_MS, loop=0)


def _encode(pixels: NDArray[Any], kind: str, **options: int) -> bytes:
    from PIL import Image

    return _save(Image.fromarray(pixels), kind, **options)


def _save(image: Any, kind: str, **options: Any) -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def _show(tag: str, pictures: Iterable[bytes], description: str) -> Message:
    # What a picture's size is, readers are told by the picture itself.
    return summary.images(tag, list(pictures), 0, 0, description=description)
