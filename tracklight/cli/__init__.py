"""The ``tracklight`` command.

`main` parses the command line (`flags`, built on `parser`) and runs one command:
`serve`, `inspect`, `export`, `doctor`, `completion`, `demo` or `tour`. Each command is a function
that takes the parsed flags and returns an exit status; its module is imported only when needed.
Start reading at `main.py`.

The package may import everything except `tracklight.notebook`.
"""

from __future__ import annotations

from tracklight.cli.main import main

__all__ = ["main"]
