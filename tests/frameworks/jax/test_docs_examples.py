"""The examples in docs/frameworks that use JAX work as printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.frameworks.docs_examples import run_example


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_example_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("jax")
    run_example("jax", tmp_path, monkeypatch)
