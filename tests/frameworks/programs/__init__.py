"""Run programs that use a framework, each in a separate process.

Frameworks keep global state and cannot share a process; Keras chooses its backend once per
process.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
#: A program takes about ten seconds on an idle machine, mostly to import its framework.
TIMEOUT_S = 600


def need(*modules: str) -> None:
    """Skip the test if a framework is not installed."""
    for module in modules:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")


def run_program(name: str, *arguments: object, cwd: Path | None = None, **environment: str) -> Any:
    """Run a program of this directory and return the JSON that it prints on its last line."""
    env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", **environment}
    env["PYTHONPATH"] = str(HERE.parents[2])
    result = subprocess.run(
        [sys.executable, str(HERE / name), *map(str, arguments)],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    assert result.returncode == 0, result.stderr[-4000:]
    return json.loads(result.stdout.splitlines()[-1])
