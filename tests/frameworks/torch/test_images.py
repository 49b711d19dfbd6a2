"""The Images dashboard returns the pixels that PyTorch and tensorboardX logged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.analysis.media.conftest import Open, open_log
from tests.frameworks.image_comparison import BATCH, STEPS, check_pixels
from tracklight.analysis.media import ValueRequest
from tracklight.dashboards.images import Images
from tracklight.torch import SummaryWriter

__all__ = ["open_log"]


def write_torch(directory: Path) -> str:
    torch = pytest.importorskip("torch.utils.tensorboard")
    with torch.SummaryWriter(str(directory)) as writer:
        for step, pictures in enumerate(BATCH):
            writer.add_image("i", pictures[0], step, dataformats="HWC")
    return "i"


def write_tensorboardx(directory: Path) -> str:
    other = pytest.importorskip("tensorboardX")
    with other.SummaryWriter(str(directory)) as writer:
        for step, pictures in enumerate(BATCH):
            writer.add_image("i", pictures[0], step, dataformats="HWC")
    return "i"


@pytest.mark.parametrize(("write", "parts"), [(write_torch, 1), (write_tensorboardx, 1)])
def test_returns_logged_pixels(
    tmp_path: Path, open_log: Open, write: Callable[[Path], str], parts: int
) -> None:
    check_pixels(tmp_path, open_log, write, parts)


def test_video_keeps_its_frames(tmp_path: Path, open_log: Open) -> None:
    """Written with tracklight, because PyTorch's writer needs another library for videos."""
    with SummaryWriter(tmp_path / "a") as writer:
        writer.add_video("v", np.moveaxis(BATCH[:, :1], (0, 4), (1, 2)), 0, fps=5)
    dashboard = Images(open_log(tmp_path))
    (part,) = dashboard.about(ValueRequest("a", "v", 0)).parts
    assert (part.format, part.frames, part.duration_ms) == ("GIF", STEPS, 200 * STEPS)
    assert (part.width, part.height) == (40, 24)
