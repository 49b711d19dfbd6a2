"""Every tensor of every file is what the framework that wrote it reads, bit for bit."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.formats.checkpoints.digests import describe
from tests.frameworks.programs import need, run_program
from tracklight.formats.checkpoints.registry import open_tensor_file
from tracklight.formats.checkpoints.tf_checkpoint import TensorFlowCheckpoint
from tracklight.logdir.confined_files import ConfinedFiles

DATA = Path(__file__).parents[2] / "data" / "checkpoints"
#: A folder whose checkpoints are looked at as well, wherever they stand in it.
MORE = os.environ.get("TRACKLIGHT_CHECKPOINTS")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    need("tensorflow", "keras")
    kept = [path for folder in (DATA, MORE) if folder for path in Path(folder).rglob("*.index")]
    prefixes = [str(path).removesuffix(".index") for path in kept]
    folder = tmp_path_factory.mktemp("checkpoints")
    found: dict[str, Any] = run_program(
        "checkpoint_program.py", folder, *prefixes, KERAS_BACKEND="tensorflow"
    )
    return found


def test_every_tensor_is_what_tensorflow_reads(told: dict[str, Any]) -> None:
    assert len(told) >= 7
    for prefix, tensors in told.items():
        checkpoint = TensorFlowCheckpoint(ConfinedFiles([str(Path(prefix).parent)]), prefix)
        for key, expected in tensors.items():
            assert describe(checkpoint.read(key)) == expected, f"{prefix} {key}"


def test_all_tensors_are_listed(told: dict[str, Any]) -> None:
    for prefix, tensors in told.items():
        listed = TensorFlowCheckpoint(
            ConfinedFiles([str(Path(prefix).parent)]), prefix
        ).list_tensors()
        shapes = {info.key: list(info.shape) for info in listed}
        known = {key: expected["shape"] for key, expected in tensors.items()}
        known.pop("_CHECKPOINTABLE_OBJECT_GRAPH", None)
        assert shapes == known


def test_weights_are_what_torch_safetensors_and_keras_saved(tmp_path: Path) -> None:
    need("torch", "safetensors", "keras", "h5py")
    for name, tensors in run_program("weights_program.py", tmp_path, KERAS_BACKEND="torch").items():
        with (tmp_path / name).open("rb") as file:
            opened = open_tensor_file(file, name)
            assert {key: describe(opened.read(key)) for key in tensors} == tensors, name
