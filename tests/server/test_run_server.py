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
from tracklight.server.serve import run_server
from tracklight.server.app import Settings

source = MemorySource(logged={"conv": {"loss": [1.0]}})
run_server(source, Settings(port=0), announce=lambda url: print(url, flush=True))
print("clean shutdown", flush=True)
"""


@pytest.fixture
def process() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-W", "error", "-c", SERVER]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        yield process
        process.kill()


@pytest.mark.parametrize("signal_", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_open_streams(process: subprocess.Popen[str], signal_: signal.Signals) -> None:
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    assert re.fullmatch(r"http://localhost:\d+/", url)
    # A compressed stream would be buffered.
    request = urllib.request.Request(url + "api/v1/live", headers={"accept-encoding": "gzip"})
    with urllib.request.urlopen(request, timeout=60) as stream:
        assert stream.readline().startswith(b"event: ")
        process.send_signal(signal_)
        while stream.readline():
            pass
    assert process.stdout.read() == "clean shutdown\n"
    assert process.wait(60) == 0
