"""Runs programs that use a framework, each in a process of its own.

Frameworks are slow to import, keep state, and warn of things that are no matter here; Keras chooses
its backend once for a process.
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


def need(*modules: str) -> None:
    """Skip a test where a framework is not installed."""
    for module in modules:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")


def run_program(name: str, *arguments: object, cwd: Path | None = None, **environment: str) -> Any:
    """What a program of this folder says on its last line, which is JSON."""
    env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", **environment}
    env["PYTHONPATH"] = str(HERE.parents[1])
    done = subprocess.run(
        [sys.executable, str(HERE / name), *map(str, arguments)],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])
