"""A short run of each fuzzer; `python -m tests.fuzz --seconds N` runs them for longer."""

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
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-3000:]
    done = re.search(r"Done (\d+) runs", ended.stderr)
    assert done and int(done[1]) > 20, ended.stderr[-3000:]
