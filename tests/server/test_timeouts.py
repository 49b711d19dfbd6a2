from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import h11
import pytest
import uvicorn
from uvicorn.server import ServerState

from tests.server.server_process import receive_all
from tracklight.server.serve import TimeoutProtocol, get_max_connections
from tracklight.util.files import get_open_file_limit


class FastTimeoutProtocol(TimeoutProtocol):
    check_interval_s = 0.2


async def app(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] != "http":
        return
    while (message := await receive())["type"] == "http.request" and message["more_body"]:
        pass
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"whole"})


@pytest.fixture
def port() -> Iterator[int]:
    """A server that checks its connections five times a second."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        config = uvicorn.Config(
            app, http=FastTimeoutProtocol, ws="none", lifespan="off", log_config=None
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listener])))
        thread.start()
        yield listener.getsockname()[1]
        server.should_exit = True
        thread.join(60)


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=60)


@pytest.mark.parametrize(
    "partial_request",
    [
        b"",
        b"GET / HTT",
        b"GET / HTTP/1.1\r\nhost: x\r\n",
        b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nab",
    ],
)
def test_closes_connections_with_stalled_requests(port: int, partial_request: bytes) -> None:
    with connect(port) as connection:
        connection.sendall(partial_request)
        assert receive_all(connection) == b""


class Transport:
    """A connection with the given numbers of unsent bytes at successive checks."""

    def __init__(self, unsent_bytes: list[int]) -> None:
        self._waiting = iter(unsent_bytes)
        self.is_aborted = False

    def get_write_buffer_size(self) -> int:
        return next(self._waiting)

    def abort(self) -> None:
        self.is_aborted = True

    def get_extra_info(self, _: str) -> None:
        return None


@pytest.mark.parametrize(
    ("unsent_bytes", "is_aborted"),
    [
        ([0, 0, 0], False),
        ([500, 400, 300], False),
        ([500, 0, 500], False),
        ([500, 500], True),
        ([500, 400, 900], True),
    ],
)
def test_closes_connections_with_stalled_responses(
    unsent_bytes: list[int], is_aborted: bool
) -> None:
    async def check() -> bool:
        config = uvicorn.Config(app, http=TimeoutProtocol, ws="none", log_config=None)
        protocol = TimeoutProtocol(config, ServerState(), {}, asyncio.get_running_loop())
        transport = Transport(unsent_bytes)
        protocol.connection_made(transport)  # type: ignore[arg-type]
        protocol.conn.receive_data(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        while not isinstance(protocol.conn.next_event(), h11.EndOfMessage):
            pass
        for _ in unsent_bytes:
            protocol.check_progress()
        return transport.is_aborted

    assert asyncio.run(check()) is is_aborted


def test_max_connections_leave_room_for_files() -> None:
    assert 64 <= get_max_connections() < get_open_file_limit()
