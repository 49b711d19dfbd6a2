"""The examples of the guides that need a framework run.

Those for users of TensorBoard and W&B are diffs: both versions run, and log the same.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tracklight
from tests.contract.pages import Block, iter_blocks
from tests.frameworks.programs import execute, need
from tests.frameworks.record_comparison import iter_differences

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
#: Keras 3 no longer logs graphs.
GRAPHS = (": new (graph)", ": new keras")
#: Values that the example on reading shows.
PRINT = "\nimport json\nprint(json.dumps([float(value) for value in values]))\n"


def list_diffs(page: str) -> list[Block]:
    return [block for block in iter_blocks("diff") if block.page == ROOT / "docs" / page]


PYTORCH, TF_SUMMARY, KERAS, READING = list_diffs("migration.md")
(WANDB,) = list_diffs("coming-from-wandb.md")


def apply(block: Block, removed: str) -> str:
    """Return one version of a program: without the lines that start with ``removed``."""
    kept = [line for line in block.code.splitlines() if not line.startswith(removed)]
    return "\n".join(line[1:] for line in kept)


def run(code: str, folder: Path, backend: str | None = None) -> str:
    """Run a program in a folder and return what it prints.

    Args:
        code: The program.
        folder: Its working directory.
        backend: The framework that it uses; such programs run in the process of that backend of
            Keras. None for a process of its own.
    """
    folder.mkdir(exist_ok=True)
    program = folder / "program.py"
    program.write_text(code, encoding="utf-8")
    if backend is None:
        return execute(program, cwd=folder)
    return execute(program, cwd=folder, process=f"keras on {backend}", KERAS_BACKEND=backend)


@pytest.mark.parametrize(
    ("block", "backend"),
    [(PYTORCH, "torch"), (TF_SUMMARY, "tensorflow"), (KERAS, "tensorflow")],
    ids=["torch", "tf.summary", "keras"],
)
def test_both_versions_log_the_same(block: Block, backend: str, tmp_path: Path) -> None:
    need(backend, "keras", "tensorboard")
    before, after = apply(block, "+"), apply(block, "-")
    assert "tracklight" in after and "tracklight" not in before
    run(before, tmp_path / "before", backend)
    run(after, tmp_path / "after", backend)
    differences = set(iter_differences(tmp_path / "before/logs", tmp_path / "after/logs", 1e-5))
    assert {line for line in differences if not line.endswith(GRAPHS)} == set()
    with tracklight.open(tmp_path / "after" / "logs") as log:
        assert any(run.startswith("run1") for run in log.runs)


def test_both_versions_read_the_same(tmp_path: Path) -> None:
    need("tensorboard")
    # `Scalars` does not find what TensorFlow 2 logs.
    run(apply(PYTORCH, "-"), tmp_path, "torch")
    # TensorBoard imports TensorFlow.
    before = run(apply(READING, "+") + PRINT, tmp_path, "tensorflow")
    after = run(apply(READING, "-") + PRINT, tmp_path)
    values = json.loads(after.splitlines()[-1])
    assert len(values) == 100
    assert json.loads(before.splitlines()[-1]) == values


def test_run_of_wandb_users_is_logged(tmp_path: Path) -> None:
    after = apply(WANDB, "-")
    assert "wandb" in apply(WANDB, "+") and "wandb" not in after
    run(after, tmp_path)
    with tracklight.open(tmp_path / "logs") as log:
        assert len(log.scalar("digits/first", "loss")) == 100
        assert len(log.hparams()) == 1


#: Names that the examples use without defining them.
TORCH_NAMES = """
import torch
import tracklight
from torch import nn

class Broken(nn.Module):
    def __init__(self):
        super().__init__()
        self.dense = nn.Linear(4, 1)
    def forward(self, x):
        return torch.log(self.dense(x) * 0)

model = Broken()
data = [torch.ones(2, 4)] * 3
loss = torch.tensor(0.5)
def train(model, batch):
    model(batch).sum().backward()
"""
JAX_NAMES = """
import jax
from tracklight import debugger

@jax.jit
def train_step(state, batch):
    return state - 0.1 * batch, (state * batch).sum()

state, data = jax.numpy.ones(4), [jax.numpy.ones(4)] * 3
"""
KERAS_NAMES = """
import keras
import numpy as np
import tensorflow as tf
import tracklight
from tracklight import debugger, summary

x, y = np.ones((16, 4), "float32"), np.arange(16) % 2
x_test, y_test = x, y
people = {"sex": ["F", "M"] * 8}
model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1, "sigmoid")])
model.compile("sgd", "binary_crossentropy")
my_function = tf.function(lambda x: x * 2)
"""
GRAPH_NAMES = """
import keras
import torch

keras_model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
model, example_inputs = torch.nn.Linear(4, 1), torch.ones(1, 4)
"""


def join_blocks(page: str, *contents: str) -> str:
    """Return the Python blocks of a page that contain one of the texts, or all of them."""
    blocks = [it.code for it in iter_blocks("python") if it.page == ROOT / "docs" / page]
    found = [code for code in blocks if not contents or any(text in code for text in contents)]
    assert len(found) == (len(contents) or len(blocks)), page
    return "\n".join(found)


def test_debugger_guide_finds_the_cause_in_pytorch(tmp_path: Path) -> None:
    need("torch")
    code = join_blocks("debugger.md", 'watch(model, "logs/run1"):', "normalize", "root_cause")
    printed = run(TORCH_NAMES + code, tmp_path, "torch")
    assert '"log" produced' in printed


def test_debugger_guide_records_jax(tmp_path: Path) -> None:
    need("jax")
    run(JAX_NAMES + join_blocks("debugger.md", "watch(train_step"), tmp_path)
    with tracklight.open(tmp_path / "logs") as log:
        assert log.debugger("run1").root_cause is None


def test_keras_page_and_its_neighbors_run(tmp_path: Path) -> None:
    need("keras", "tensorflow")
    code = join_blocks("frameworks/keras.md") + join_blocks("fairness.md", "keras.Fairness")
    run(KERAS_NAMES + code + join_blocks("debugger.md", "model.fit"), tmp_path, "tensorflow")
    with tracklight.open(tmp_path / "logs") as log:
        assert {"run1/train", "run1/validation", "run1/rate"} <= set(log.runs)
        assert len(log.graph("run1/rate", tag="my_function")) > 0


def test_graphs_page_logs_both_models(tmp_path: Path) -> None:
    need("keras", "torch")
    run(GRAPH_NAMES + join_blocks("dashboards/graphs.md"), tmp_path, "torch")
    with tracklight.open(tmp_path / "logs") as log:
        assert len(log.graph("keras")) > 0 and len(log.graph("torch")) > 0
