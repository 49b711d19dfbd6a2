"""The Images dashboard returns the pixels that TensorFlow logged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.analysis.media.conftest import Open, open_log
from tests.frameworks.image_comparison import BATCH, check_pixels

__all__ = ["open_log"]


def write_tensorflow(directory: Path) -> str:
    tensorflow = pytest.importorskip("tensorflow")
    with tensorflow.summary.create_file_writer(str(directory)).as_default():
        for step, pictures in enumerate(BATCH):
            tensorflow.summary.image("i", pictures, step=step)
    return "i"


def write_old_tensorflow(directory: Path) -> str:
    v1 = pytest.importorskip("tensorflow").compat.v1
    with v1.Graph().as_default(), v1.Session() as session:
        pictures = v1.placeholder(v1.uint8, [2, 24, 40, 3])
        merged = v1.summary.image("i", pictures, max_outputs=1)
        with v1.summary.FileWriter(str(directory)) as writer:
            for step, batch in enumerate(BATCH):
                writer.add_summary(session.run(merged, {pictures: batch}), step)
    return "i/image"


@pytest.mark.parametrize(("write", "parts"), [(write_tensorflow, 2), (write_old_tensorflow, 1)])
def test_returns_logged_pixels(
    tmp_path: Path, open_log: Open, write: Callable[[Path], str], parts: int
) -> None:
    check_pixels(tmp_path, open_log, write, parts)
