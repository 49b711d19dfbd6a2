"""A log with embeddings, and its Projector dashboard without a server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.analysis.embeddings.projections.point_clouds import make_clusters
from tests.dashboards.opening import make_context
from tests.server.waiting import wait_until
from tracklight.dashboards.projector import Projector
from tracklight.dashboards.projector.schemas import (
    EmbeddingRow,
    JobStatus,
    LayoutRequest,
    LayoutResponse,
)
from tracklight.index.catalog import Catalog
from tracklight.logdir.access import Root
from tracklight.plugin import Empty

NAMES = ["oak", "elm", "ash", "fir"]
ROWS = 60


class Board:
    """The Projector dashboard of a log."""

    def __init__(self, logdir: Path, cache: Path) -> None:
        self.catalog = Catalog([Root("", str(logdir))], cache=cache)
        self.catalog.refresh()
        self.projector = Projector(make_context(self.catalog))

    def find(self, name: str) -> EmbeddingRow:
        """Return an embedding by name."""
        rows = self.projector.embeddings(Empty()).embeddings
        return next(row for row in rows if row.name == name)

    def wait(self, job: JobStatus) -> LayoutResponse:
        """Wait until a job has ended, and return its layout."""
        request = LayoutRequest(job.job)
        running = ("waiting", "running")
        wait_until(lambda: self.projector.layout(request).job.state not in running)
        return self.projector.layout(request)

    def close(self) -> None:
        self.projector.close()
        self.catalog.close()


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    """Write trees at two steps with labels and images, and a matrix without a config."""
    folder = tmp_path / "logs"
    folder.mkdir()
    vectors, _ = make_clusters(ROWS)
    np.save(folder / "early.npy", vectors * np.float32(0.1))
    np.save(folder / "late.npy", vectors)
    np.save(folder / "loose.npy", vectors[:7])
    rows = [f"{NAMES[row % 4]} {row}\t{NAMES[row % 4]}\t{row / 2}" for row in range(ROWS)]
    (folder / "labels.tsv").write_text("tree\tkind\theight\n" + "\n".join(rows) + "\n")
    Image.new("RGB", (64, 72), "red").save(folder / "sprite.png")
    (folder / "projector_config.pbtxt").write_text(
        "".join(
            f'embeddings {{ tensor_name: "trees:{step:05d}" tensor_path: "{path}" '
            'metadata_path: "labels.tsv" '
            'sprite { image_path: "sprite.png" single_image_dim: 8 single_image_dim: 9 } }\n'
            for step, path in ((10, "early.npy"), (200, "late.npy"))
        )
    )
    return folder


@pytest.fixture
def board(logdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Board]:
    monkeypatch.setenv("TRACKLIGHT_DATA_DIR", str(tmp_path / "data"))
    board = Board(logdir, tmp_path / "cache")
    yield board
    board.close()
