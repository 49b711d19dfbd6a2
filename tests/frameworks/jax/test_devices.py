"""JAX arrays on a GPU are logged like arrays in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.frameworks.devices import check_device, log_by_summary, log_by_writer

jax = pytest.importorskip("jax")


@pytest.mark.skipif(jax.default_backend() == "cpu", reason="JAX sees no GPU")
@pytest.mark.parametrize("log", [log_by_summary, log_by_writer])
def test_logs_arrays_on_a_gpu(log: Any, tmp_path: Path) -> None:
    check_device(log, tmp_path, jax.numpy.asarray)
