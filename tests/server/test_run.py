from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator

import pytest

from tracklight.errors import UsageError
from tracklight.server import run
from tracklight.server.run import address_of, bind

SERVER = """
from tests.server.memory_source import MemorySource
from tracklight.server.run import serve

source = MemorySource(logged={"conv": {"loss": [1.0]}})
serve(source, port=0, announce=lambda address: print(address, flush=True))
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
    request = urllib.request.Request(address + "api/live", headers={"accept-encoding": "gzip"})
    with urllib.request.urlopen(request, timeout=20) as stream:
        assert stream.readline().startswith(b"event: ")
        process.send_signal(how)
        while stream.readline():
            pass
    assert process.stdout.read() == "ended well\n"
    assert process.wait(20) == 0


def test_a_port_that_is_taken_is_told() -> None:
    with bind("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"127.0.0.1:{port}.*0 for a free one"):
            bind("127.0.0.1", port)


def test_without_a_port_the_next_free_one_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    with bind("127.0.0.1", 0) as taken, bind("127.0.0.1", 0) as free:
        ports = [taken.getsockname()[1], free.getsockname()[1]]
        free.close()
        monkeypatch.setattr(run, "_USUAL_PORTS", ports)
        with run._bind_any("127.0.0.1", None) as listener:
            assert listener.getsockname()[1] == ports[1]


def test_a_name_that_is_nowhere_is_told() -> None:
    with pytest.raises(UsageError, match="cannot listen"):
        bind("no-such-host.invalid", 0)


def test_address_has_prefix_and_token() -> None:
    with bind("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        address = address_of(listener, "127.0.0.1", "/board/", "t0k")
        assert address == f"http://127.0.0.1:{port}/board/?token=t0k"


def test_the_end_of_an_answer_is_not_held_back() -> None:
    with bind("localhost", 0) as listener:
        with socket.create_connection(listener.getsockname()[:2]):
            connection, _ = listener.accept()
            with connection:
                assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
