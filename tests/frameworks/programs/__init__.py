"""Run programs that use a framework, in other processes.

Frameworks keep global state and cannot share a process; Keras chooses its backend once per
process. Importing one takes most of the time of a program, so programs may share a process.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
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


def run_program(
    name: str,
    *arguments: object,
    cwd: Path | None = None,
    process: str | None = None,
    **environment: str,
) -> Any:
    """Run a program of this directory and return the JSON that it prints on its last line.

    Args:
        name: The file name of the program.
        *arguments: Its arguments.
        cwd: Its working directory.
        process: See `execute`.
        **environment: Additional environment variables.
    """
    output = execute(HERE / name, *arguments, cwd=cwd, process=process, **environment)
    return json.loads(output.splitlines()[-1])


def execute(
    path: Path,
    *arguments: object,
    cwd: Path | None = None,
    process: str | None = None,
    **environment: str,
) -> str:
    """Run a program and return what it prints.

    Args:
        path: The file of the program.
        *arguments: Its arguments.
        cwd: Its working directory.
        process: Programs for which this is the same run one after another in one process, which
            has imported the framework already; None for a process of its own.
        **environment: Additional environment variables.
    """
    env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    env["PYTHONPATH"] = str(HERE.parents[2])
    command = [str(path), *map(str, arguments)]
    if process is not None:
        shared = _processes.pop(process, None) or SharedProcess(env)
        try:
            output = shared.run(command, cwd, environment)
        except BaseException:
            # After a timeout, its reply must not be that to the next program.
            shared.kill()
            raise
        _processes[process] = shared
        return output
    result = subprocess.run(
        [sys.executable, *command],
        cwd=cwd,
        env=env | environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    assert result.returncode == 0, result.stderr[-4000:]
    return result.stdout


def run_keras(name: str, *arguments: object, backend: str) -> Any:
    """Run a program of this directory in the process of a Keras backend."""
    return run_program(name, *arguments, process=f"keras on {backend}", KERAS_BACKEND=backend)


def close_shared_processes() -> None:
    """End the processes that `run_program` started for several programs."""
    while _processes:
        _processes.popitem()[1].close()


class SharedProcess:
    """A process that runs programs one after another; see ``program_runner.py``."""

    def __init__(self, env: dict[str, str]) -> None:
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8")
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "program_runner.py")],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )

    def run(self, command: list[str], cwd: Path | None, environment: dict[str, str]) -> str:
        """Run a program and return what it prints."""
        assert self._process.stdin is not None and self._process.stdout is not None
        cwd = cwd or Path.cwd()
        request = {"command": command, "cwd": str(cwd), "environment": environment}
        print(json.dumps(request), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            self._errors.seek(0)
            raise AssertionError(f"the process ended: {self._errors.read()[-4000:]}")
        reply = json.loads(line)
        assert reply["error"] is None, reply["error"]
        return str(reply["output"])

    def close(self) -> None:
        with self._process:  # closes its input, at the end of which it exits
            pass
        self._errors.close()

    def kill(self) -> None:
        self._process.kill()
        self.close()


_processes: dict[str, SharedProcess] = {}
