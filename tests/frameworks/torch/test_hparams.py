"""Read hyperparameters that other libraries have logged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.analysis.experiments.helpers import open_board
from tracklight.dashboards.hparams.schemas import SessionsRequest

pytestmark = pytest.mark.filterwarnings("ignore")


def read(logdir: Path) -> tuple[list[str], dict[str, list[Any]], dict[str, list[float]], list[int]]:
    response = open_board(logdir)[1].sessions(SessionsRequest())
    hparams = {hparam.name: hparam.values.tolist() for hparam in response.hparams}
    metrics = {metric.key: metric.values.tolist() for metric in response.metrics}
    return response.rows.names, hparams, metrics, response.rows.source.tolist()


def test_reads_hparams_file_of_lightning(tmp_path: Path) -> None:
    loggers = pytest.importorskip("lightning.pytorch.loggers")
    for version in range(2):
        logger = loggers.CSVLogger(tmp_path, name="runs", version=version)
        logger.log_hyperparams({"lr": 0.1 + version, "net": {"layers": 3}})
        logger.save()
        from torch.utils.tensorboard import SummaryWriter

        with SummaryWriter(logger.log_dir) as writer:
            writer.add_scalar("loss", 0.5 + version, 1)
    names, hparams, metrics, source = read(tmp_path)
    assert names == ["runs/version_0", "runs/version_1"]
    assert hparams == {"lr": [0.1, 1.1], "net/layers": [3.0, 3.0]}
    assert (metrics, source) == ({"|loss": [0.5, 1.5]}, [1, 1])


@pytest.mark.parametrize("module", ["torch.utils.tensorboard", "tensorboardX"])
def test_reads_add_hparams_of_other_writers(module: str, tmp_path: Path) -> None:
    writers = pytest.importorskip(module)
    for number in range(2):
        with writers.SummaryWriter(str(tmp_path / f"run{number}")) as writer:
            writer.add_scalar("loss", 1.0 + number, 5)
            writer.add_hparams({"lr": 0.1 * (number + 1), "opt": "adam"}, {"hp/acc": 0.9})
    names, hparams, metrics, source = read(tmp_path)
    assert [name.partition("/")[0] for name in names] == ["run0", "run1"]
    assert hparams == {"lr": [0.1, 0.2], "opt": [0.0, 0.0]}
    assert metrics["|hp/acc"] == pytest.approx([0.9, 0.9])
    assert metrics["..|loss"] == [1.0, 2.0]
    assert source == [0, 0]
