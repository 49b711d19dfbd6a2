"""The callback for the Trainer of Hugging Face Transformers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.writer.event_files import iter_events, list_files, read_values

transformers = pytest.importorskip("transformers")
torch = pytest.importorskip("torch")
pytest.importorskip("accelerate", reason="the Trainer needs accelerate")

from tracklight.torch.transformers import Callback  # noqa: E402

# What transformers says about other packages is no business of this test.
pytestmark = pytest.mark.filterwarnings("ignore")


class Data(torch.utils.data.Dataset):  # type: ignore[misc]
    def __len__(self) -> int:
        return 16

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {"input_ids": torch.arange(8) % 5 + index % 3, "labels": torch.tensor(index % 2)}


def train(directory: Path, callbacks: list[Any], report_to: str = "none") -> None:
    transformers.set_seed(0)
    config = transformers.BertConfig(
        vocab_size=10,
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=8,
    )
    trainer = transformers.Trainer(
        model=transformers.BertForSequenceClassification(config),
        args=transformers.TrainingArguments(
            output_dir=str(directory),
            report_to=report_to,
            max_steps=4,
            logging_steps=1,
            eval_strategy="steps",
            eval_steps=2,
            save_strategy="no",
            use_cpu=True,
            disable_tqdm=True,
            per_device_train_batch_size=4,
        ),
        train_dataset=Data(),
        eval_dataset=Data(),
        callbacks=callbacks,
    )
    trainer.train()


def read_points(logdir: Path) -> list[tuple[int, bytes, float]]:
    return [
        (event.step, value.tag, value.simple_value)
        for event in iter_events(logdir)
        for value in event.summary.value
        if value.WhichOneof("value") == "simple_value"
    ]


def test_logs_a_training(tmp_path: Path) -> None:
    callback = Callback(tmp_path / "run", strict=True)
    train(tmp_path / "out", [callback])
    points = read_points(tmp_path / "run")
    assert [step for step, tag, _ in points if tag == b"train/loss"] == [1, 2, 3, 4]
    assert [step for step, tag, _ in points if tag == b"eval/loss"] == [2, 4]
    texts = {value.tag for value in read_values(tmp_path / "run")}
    assert {b"args/text_summary", b"model_config/text_summary"} <= texts
    assert callback.writer is None


def test_logs_the_tags_of_tensorboardcallback(tmp_path: Path) -> None:
    train(tmp_path, [Callback(tmp_path / "ours")], report_to="tensorboard")
    (original,) = {path.parent for path in (tmp_path / "runs").rglob("*tfevents*")}
    theirs, ours = read_points(original), read_points(tmp_path / "ours")
    assert len(ours) > 8
    assert ours == theirs
    assert {value.tag for value in read_values(original)} == {
        value.tag for value in read_values(tmp_path / "ours")
    }


def test_default_directory_is_that_of_tensorboardcallback(tmp_path: Path) -> None:
    train(tmp_path, [Callback()])
    (directory,) = (tmp_path / "runs").iterdir()
    assert len(list_files(directory)) == 1


def test_uses_directory_of_the_environment_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENSORBOARD_LOGGING_DIR", str(tmp_path / "elsewhere"))
    train(tmp_path, [Callback()])
    assert len(list_files(tmp_path / "elsewhere")) == 1
