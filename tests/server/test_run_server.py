from __future__ import annotations

import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator

import pytest

SERVER = """
from tests.server.memory_source import MemorySource
from tracklight.server.serve import serve
from tracklight.server.app import Settings

source = MemorySource(logged={"conv": {"loss": [1.0]}})
serve(source, Settings(port=0), announce=lambda address: print(address, flush=True))
print("ended well", flush=True)
"""


@pytest.fixture
def process() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-W", "error", "-c", SERVER]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        yield process
        process.kill()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_open_streams_at_once(
    process: subprocess.Popen[str], how: signal.Signals
) -> None:
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    assert re.fullmatch(r"http://localhost:\d+/", address)
    # A stream that is compressed is held back until there is enough of it.
    request = urllib.request.Request(address + "api/v1/live", headers={"accept-encoding": "gzip"})
    with urllib.request.urlopen(request, timeout=60) as stream:
        assert stream.readline().startswith(b"event: ")
        process.send_signal(how)
        while stream.readline():
            pass
    assert process.stdout.read() == "ended well\n"
    assert process.wait(60) == 0
