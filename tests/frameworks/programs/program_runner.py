"""Run programs in this process, one after another, each as ``__main__``.

Reads a JSON object per line with the command, working directory and environment of a program, and
replies with what it printed.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import runpy
import sys
import traceback
import warnings
from collections.abc import Iterator


def run(command: list[str], cwd: str, environment: dict[str, str]) -> dict[str, str | None]:
    """Run a program and return its output, and its error if it failed."""
    os.chdir(cwd)
    sys.argv[:] = command
    if "keras" in sys.modules:
        # Names of layers are numbered as in a new process.
        sys.modules["keras"].utils.clear_session()
    error = None
    output = io.StringIO()
    with (
        contextlib.redirect_stdout(output),
        warnings.catch_warnings(),
        set_environment(environment),
    ):
        try:
            runpy.run_path(command[0], run_name="__main__")
        except (Exception, SystemExit):
            error = traceback.format_exc()
    gc.collect()  # closes writers, as the end of a process does
    gc.freeze()  # what frameworks keep need not be searched after the next program
    return {"output": output.getvalue(), "error": error}


@contextlib.contextmanager
def set_environment(environment: dict[str, str]) -> Iterator[None]:
    """Set variables for one program; others that frameworks set are kept."""
    before = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    yield
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def main() -> None:
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    # What libraries print, also from C, is not a reply.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(run(**request)), file=replies, flush=True)


if __name__ == "__main__":
    main()
