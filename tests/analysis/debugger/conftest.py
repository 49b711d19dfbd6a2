from __future__ import annotations

from pathlib import Path

import pytest

from tests.archives import extract

DATA = Path(__file__).parents[2] / "data/debug_events/dumps.tar.xz"


@pytest.fixture(scope="session")
def dumps_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Dumps in all modes and what TensorFlow reads in them; tests must not change the files."""
    folder = tmp_path_factory.mktemp("dumps")
    extract(DATA, folder)
    return folder
