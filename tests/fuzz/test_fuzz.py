"""Mutate the seeds of each fuzzer, always in the same way. `python -m tests.fuzz` tries others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.targets import RUN, SEEDS

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("target", RUN)
def test_no_input_fails(target: str) -> None:
    assert "Done 1000 runs" in fuzz(target, "--runs", "1000")


def test_an_input_is_run_again(tmp_path: Path) -> None:
    """With atheris, if it is installed."""
    path = tmp_path / "input"
    path.write_bytes(next(iter(SEEDS["tensor"]())))
    fuzz("tensor", str(path))


def fuzz(*arguments: str) -> str:
    command = [sys.executable, "-m", "tests.fuzz", *arguments]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]
    return result.stderr
