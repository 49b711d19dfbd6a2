"""Run programs in this process, one after another, each as ``__main__``.

Reads a JSON object per line with the command and the working directory of a program, and replies
with what it printed.
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


def run(command: list[str], cwd: str) -> dict[str, str | None]:
    """Run a program and return its output, and its error if it failed."""
    os.chdir(cwd)
    sys.argv[:] = command
    if "keras" in sys.modules:
        # Names of layers are numbered as in a new process.
        sys.modules["keras"].utils.clear_session()
    error = None
    output = io.StringIO()
    with contextlib.redirect_stdout(output), warnings.catch_warnings():
        try:
            runpy.run_path(command[0], run_name="__main__")
        except (Exception, SystemExit):
            error = traceback.format_exc()
    gc.collect()  # closes writers, as the end of a process does
    return {"output": output.getvalue(), "error": error}


def main() -> None:
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    # What libraries print, also from C, is not a reply.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(run(request["command"], request["cwd"])), file=replies, flush=True)


if __name__ == "__main__":
    main()
