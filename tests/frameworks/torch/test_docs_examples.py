"""The examples in docs/frameworks that use PyTorch work as printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.frameworks.docs_examples import run_example


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("page", ["torch", "lightning", "transformers"])
def test_example_works(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(page)
    run_example(page, tmp_path, monkeypatch)
