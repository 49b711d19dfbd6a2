"""Allow one framework per process.

TensorFlow, PyTorch and JAX crash or hang in one process, so each directory here contains the tests
of one of them and is run separately (`tools/run_tests.py`). Tests in ``subprocesses`` start a
process for each program and import no framework.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from tests.frameworks.programs import close_shared_processes

FRAMEWORKS = ("jax", "tensorflow", "torch")


@pytest.fixture(scope="session", autouse=True)
def shared_processes() -> Iterator[None]:
    """End the processes of programs after the last test."""
    yield
    close_shared_processes()


@pytest.fixture(autouse=True)
def one_framework() -> Iterator[None]:
    """Fail if a second framework was imported into this process."""
    yield
    loaded = [name for name in FRAMEWORKS if name in sys.modules]
    if "tensorflow" in loaded and "jax" in loaded:
        loaded.remove("jax")  # imported by TensorFlow for tf.lite
    assert len(loaded) <= 1, f"two frameworks in one process: {', '.join(loaded)}"
