"""Keep frameworks apart.

TensorFlow, PyTorch and JAX crash or hang in one process, so each folder here holds the tests of
one of them and is a pytest run of its own (`tools/run_tests.py`). Tests in ``subprocesses`` start
a process for each program and import no framework themselves.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

FRAMEWORKS = ("jax", "tensorflow", "torch")


@pytest.fixture(autouse=True)
def one_framework() -> Iterator[None]:
    """Fail if a second framework was imported into this process."""
    yield
    loaded = [name for name in FRAMEWORKS if name in sys.modules]
    if "tensorflow" in loaded and "jax" in loaded:
        loaded.remove("jax")  # TensorFlow imports it itself, for tf.lite
    assert len(loaded) <= 1, f"two frameworks in one process: {', '.join(loaded)}"
