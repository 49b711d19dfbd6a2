"""The logger for Lightning's Trainer."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from tests.writer.event_files import iter_events, list_files, read_values

lightning = pytest.importorskip("lightning")

import torch  # noqa: E402

from tracklight.torch.lightning import Logger, flatten_hparams  # noqa: E402

# What Lightning says about few workers and old interfaces of PyTorch is no business of this test.
pytestmark = pytest.mark.filterwarnings("ignore")


class Model(lightning.LightningModule):  # type: ignore[misc]
    def __init__(self, lr: float = 0.1, layers: tuple[int, ...] = (4, 1)) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.example_input_array = torch.ones(1, 4)
        self.body = torch.nn.Sequential(torch.nn.Linear(4, 1))

    def forward(self, x: Any) -> Any:
        return self.body(x)

    def training_step(self, batch: Any, index: int) -> Any:
        loss = ((self(batch[0]) - batch[1]) ** 2).mean()
        self.log("loss", loss, on_step=True, on_epoch=False)
        self.logger.experiment.add_histogram("weights", self.body[0].weight, self.global_step)
        return loss

    def validation_step(self, batch: Any, index: int) -> None:
        self.log("val_loss", ((self(batch[0]) - batch[1]) ** 2).mean())

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), self.hparams["lr"])


def make_data() -> Any:
    x = torch.rand(32, 4, generator=torch.Generator().manual_seed(0))
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, x.sum(1, True)), 8)


def train(logger: Logger, **options: Any) -> None:
    trainer = lightning.Trainer(
        logger=logger,
        max_epochs=2,
        log_every_n_steps=1,
        accelerator="cpu",
        enable_progress_bar=False,
        enable_model_summary=False,
        **options,
    )
    trainer.fit(Model(), make_data(), make_data())


def test_logs_a_training(tmp_path: Path) -> None:
    logger = Logger(tmp_path, log_graph=True, strict=True)
    train(logger)
    run_dir = tmp_path / "lightning_logs" / "version_0"
    assert Path(logger.log_dir) == run_dir
    values = read_values(run_dir)
    losses = [value.simple_value for value in values if value.tag == b"loss"]
    assert len(losses) == 8 and losses[-1] < losses[0]
    tags = {value.tag for value in values}
    assert {b"val_loss", b"epoch", b"weights", b"_hparams_/session_start_info"} <= tags
    assert b"_hparams_/session_end_info" in tags
    assert any(event.graph_def for event in iter_events(run_dir))
    # Checkpoints are saved next to the log, as with the TensorBoardLogger.
    assert list(run_dir.glob("checkpoints/*.ckpt"))


def test_logs_the_scalars_of_tensorboardlogger(tmp_path: Path) -> None:
    from lightning.pytorch.loggers import TensorBoardLogger

    losses = []
    for logger in (Logger(tmp_path / "ours"), TensorBoardLogger(str(tmp_path / "original"))):
        lightning.seed_everything(0)
        train(logger, enable_checkpointing=False)
        events = iter_events(Path(logger.log_dir))
        losses.append(
            [
                (event.step, value.tag, value.simple_value)
                for event in events
                for value in event.summary.value
                if value.WhichOneof("value") == "simple_value" and value.tag != b"hp_metric"
            ]
        )
    assert losses[0] == losses[1]
    assert len(losses[0]) > 8


def test_version_numbers_are_consecutive(tmp_path: Path) -> None:
    for number in (0, 3):
        (tmp_path / "exp" / f"version_{number}").mkdir(parents=True)
    (tmp_path / "exp" / "version_old").mkdir()
    logger = Logger(tmp_path, "exp", sub_dir="fold1")
    assert (logger.version, logger.name, logger.save_dir) == (4, "exp", str(tmp_path))
    assert logger.log_dir == str(tmp_path / "exp" / "version_4" / "fold1")
    assert Logger(tmp_path, "", "mine").log_dir == str(tmp_path / "mine")


def test_logs_metric_groups_and_failure(tmp_path: Path) -> None:
    logger = Logger(tmp_path, None, "a", prefix="p", strict=True)
    logger.log_hyperparams(Namespace(lr=0.1), {"best": 0.5}, 7)
    logger.log_metrics({"group": {"x": 1.0}, "plain": torch.tensor(2.0)}, 3)
    logger.finalize("failed")
    assert [value.tag for value in read_values(tmp_path / "a" / "p-group_x")] == [b"p-group"]
    *_, best, plain, end = read_values(tmp_path / "a")
    assert (best.tag, best.simple_value) == (b"p-best", 0.5)
    assert (plain.tag, plain.simple_value) == (b"p-plain", 2.0)
    assert end.metadata.plugin_data.content.endswith(b"\x08\x02")  # a failure


def test_creates_no_file_before_the_first_value(tmp_path: Path) -> None:
    logger = Logger(tmp_path)
    logger.finalize("success")
    assert list_files(tmp_path) == []


def test_flattens_hyperparameters() -> None:
    nested = {"a": {"b": 1, "c": [1, 2]}, "d": None, "e": Namespace(f="x")}
    assert flatten_hparams(nested) == {"a/b": 1, "a/c": "[1, 2]", "d": "None", "e/f": "x"}
