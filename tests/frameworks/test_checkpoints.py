"""Every tensor of every checkpoint is what TensorFlow's own reader finds, bit for bit."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest
from numpy.typing import NDArray

from tests.frameworks.programs import need, run_program
from tracklight.tensorfiles.bundle import Checkpoint
from tracklight.tensorfiles.place import Place

DATA = Path(__file__).parents[1] / "data" / "checkpoints"
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
        checkpoint = Checkpoint(Place([str(Path(prefix).parent)]), prefix)
        for key, expected in tensors.items():
            assert _describe(checkpoint.read(key)) == expected, f"{prefix} {key}"


def test_all_tensors_are_listed(told: dict[str, Any]) -> None:
    for prefix, tensors in told.items():
        listed = Checkpoint(Place([str(Path(prefix).parent)]), prefix).tensors()
        shapes = {info.key: list(info.shape) for info in listed}
        known = {key: expected["shape"] for key, expected in tensors.items()}
        known.pop("_CHECKPOINTABLE_OBJECT_GRAPH", None)
        assert shapes == known


def _describe(array: NDArray[Any]) -> dict[str, Any]:
    if array.dtype == object:
        return {"shape": list(array.shape), "texts": [text.hex() for text in array.ravel()]}
    digest = hashlib.sha256(array.tobytes()).hexdigest()
    return {"shape": list(array.shape), "dtype": array.dtype.name, "digest": digest}
