"""Run each fuzzer for a short time. Run them for longer with `python -m tests.fuzz`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.targets import RUN

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("target", RUN)
def test_no_input_fails(target: str) -> None:
    command = [sys.executable, "-m", "tests.fuzz", target, "--seconds", "6"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]
    done = re.search(r"Done (\d+) runs", result.stderr)
    assert done and int(done[1]) > 20, result.stderr[-3000:]
