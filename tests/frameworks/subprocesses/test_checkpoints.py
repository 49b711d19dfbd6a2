"""Tensors read from checkpoints equal those read by the framework, bit for bit."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.formats.checkpoints.digests import describe
from tests.frameworks.programs import need, run_keras
from tracklight.formats.checkpoints import open_tensor_file
from tracklight.formats.checkpoints.tf_checkpoint import TensorFlowCheckpoint
from tracklight.logdir.access import ConfinedFiles

DATA = Path(__file__).parents[2] / "data" / "checkpoints"
#: Directory with further checkpoints to test.
MORE = os.environ.get("TRACKLIGHT_CHECKPOINTS")


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    need("tensorflow", "keras")
    indexes = [path for root in (DATA, MORE) if root for path in Path(root).rglob("*.index")]
    prefixes = [str(path).removesuffix(".index") for path in indexes]
    directory = tmp_path_factory.mktemp("checkpoints")
    tensors: dict[str, Any] = run_keras(
        "checkpoint_program.py", directory, *prefixes, backend="tensorflow"
    )
    return tensors


def test_tensors_agree_with_tensorflow(expected: dict[str, Any]) -> None:
    assert len(expected) >= 7
    for prefix, tensors in expected.items():
        checkpoint = TensorFlowCheckpoint(ConfinedFiles([str(Path(prefix).parent)]), prefix)
        for key, expected in tensors.items():
            assert describe(checkpoint.read(key)) == expected, f"{prefix} {key}"


def test_all_tensors_are_listed(expected: dict[str, Any]) -> None:
    for prefix, tensors in expected.items():
        listed = TensorFlowCheckpoint(
            ConfinedFiles([str(Path(prefix).parent)]), prefix
        ).list_tensors()
        shapes = {info.key: list(info.shape) for info in listed}
        known = {key: expected["shape"] for key, expected in tensors.items()}
        known.pop("_CHECKPOINTABLE_OBJECT_GRAPH", None)
        assert shapes == known


def test_weights_agree_with_torch_safetensors_and_keras(tmp_path: Path) -> None:
    need("torch", "safetensors", "keras", "h5py")
    for name, tensors in run_keras("weights_program.py", tmp_path, backend="torch").items():
        with (tmp_path / name).open("rb") as file:
            opened = open_tensor_file(file, name)
            assert {key: describe(opened.read(key)) for key in tensors} == tensors, name
