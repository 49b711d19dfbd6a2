"""Keep frameworks apart.

TensorFlow, PyTorch and JAX crash or hang in one process, so each folder here holds the tests of
one of them and is a pytest run of its own (`tools/run_tests.py`). Tests in ``subprocesses`` start
a process for each program and import no framework themselves.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator

import pytest

FRAMEWORKS = ("jax", "tensorflow", "torch")

# TensorBoard, which torch.utils.tensorboard imports, takes its own replacement for TensorFlow's
# file functions when it can import this module, and TensorFlow otherwise.
sys.modules["tensorboard.compat.notf"] = types.ModuleType("tensorboard.compat.notf")


@pytest.fixture(autouse=True)
def one_framework() -> Iterator[None]:
    """Fail if a second framework was imported into this process."""
    yield
    loaded = [name for name in FRAMEWORKS if name in sys.modules]
    assert len(loaded) <= 1, f"two frameworks in one process: {', '.join(loaded)}"
