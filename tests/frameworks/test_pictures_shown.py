"""The pixels that the Images dashboard tells of are the arrays that programs logged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.media.conftest import Open, open_log
from tracklight.dashboards.images import Images
from tracklight.dashboards.images.asks import PixelsAsk
from tracklight.media.reader import ValueAsk
from tracklight.media.steps import StepsAsk

__all__ = ["open_log"]

STEPS = 12
BATCH = np.random.default_rng(5).integers(0, 256, (STEPS, 2, 24, 40, 3)).astype(np.uint8)


def iter_shown(dashboard: Images, tag: str) -> Iterator[tuple[int, list[NDArray[Any]]]]:
    """Every step of a tag, and the pixels of its pictures."""
    (steps,) = dashboard.steps(StepsAsk([tag])).series
    rows = zip(steps.index.tolist(), steps.step.tolist(), steps.mark.tolist(), strict=True)
    for index, step, mark in rows:
        place = (steps.run, steps.tag, index, mark)
        parts = dashboard.about(ValueAsk(*place)).parts
        asks = [PixelsAsk(*place, part.part, 0, 0, 64, 64) for part in parts]
        shown = [dashboard.pixels(ask) for ask in asks]
        yield step, [it.values.reshape(it.height, it.width, len(it.channels)) for it in shown]


def write_torch(folder: Path) -> str:
    torch = pytest.importorskip("torch.utils.tensorboard")
    with torch.SummaryWriter(str(folder)) as writer:
        for step, pictures in enumerate(BATCH):
            writer.add_image("i", pictures[0], step, dataformats="HWC")
    return "i"


def write_tensorboardx(folder: Path) -> str:
    other = pytest.importorskip("tensorboardX")
    with other.SummaryWriter(str(folder)) as writer:
        for step, pictures in enumerate(BATCH):
            writer.add_image("i", pictures[0], step, dataformats="HWC")
    return "i"


def write_tensorflow(folder: Path) -> str:
    tensorflow = pytest.importorskip("tensorflow")
    with tensorflow.summary.create_file_writer(str(folder)).as_default():
        for step, pictures in enumerate(BATCH):
            tensorflow.summary.image("i", pictures, step=step)
    return "i"


def write_old_tensorflow(folder: Path) -> str:
    v1 = pytest.importorskip("tensorflow").compat.v1
    with v1.Graph().as_default(), v1.Session() as session:
        pictures = v1.placeholder(v1.uint8, [2, 24, 40, 3])
        merged = v1.summary.image("i", pictures, max_outputs=1)
        with v1.summary.FileWriter(str(folder)) as writer:
            for step, batch in enumerate(BATCH):
                writer.add_summary(session.run(merged, {pictures: batch}), step)
    return "i/image"


@pytest.mark.parametrize(
    ("write", "parts"),
    [
        (write_torch, 1),
        (write_tensorboardx, 1),
        (write_tensorflow, 2),
        (write_old_tensorflow, 1),
    ],
)
def test_pixels_are_those_logged(
    tmp_path: Path, open_log: Open, write: Callable[[Path], str], parts: int
) -> None:
    tag = write(tmp_path / "a")
    shown = dict(iter_shown(Images(open_log(tmp_path)), tag))
    assert list(shown) == list(range(STEPS))
    for step, pictures in shown.items():
        np.testing.assert_array_equal(np.stack(pictures), BATCH[step][:parts])


def test_a_video_keeps_its_frames(tmp_path: Path, open_log: Open) -> None:
    """PyTorch's own needs another library for it; ours writes the same record."""
    from tracklight.torch import SummaryWriter

    with SummaryWriter(tmp_path / "a") as writer:
        writer.add_video("v", np.moveaxis(BATCH[:, :1], (0, 4), (1, 2)), 0, fps=5)
    dashboard = Images(open_log(tmp_path))
    (part,) = dashboard.about(ValueAsk("a", "v", 0)).parts
    assert (part.format, part.frames, part.duration_ms) == ("GIF", STEPS, 200 * STEPS)
    assert (part.width, part.height) == (40, 24)
