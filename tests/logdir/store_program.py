"""Run the program of an object store while tests use it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.server.waiting import wait_until


@contextmanager
def run_server(command: Sequence[str], folder: Path, pattern: re.Pattern[str]) -> Iterator[str]:
    """Run a server until the end of the block.

    Args:
        command: The program and its arguments.
        folder: Where to write its output.
        pattern: Its first group is the address in the output.

    Yields:
        The address.
    """
    log = folder / "log"

    def find_address() -> re.Match[str] | None:
        return pattern.search(log.read_text())

    with (
        log.open("w") as output,
        subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT) as process,
    ):
        try:
            wait_until(lambda: find_address() is not None or process.poll() is not None)
            found = find_address()
            assert found is not None, log.read_text()
            yield found[1]
        finally:
            process.terminate()
