from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
import uvicorn

from tests.server.served import receive_all
from tracklight.server.patience import PatientProtocol, find_file_limit, limit_connections


class Hasty(PatientProtocol):
    look_s = 0.2


LARGE = b"x" * (64 << 20)


async def app(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] != "http":
        return
    while (message := await receive())["type"] == "http.request" and message["more_body"]:
        pass
    body = LARGE if scope["path"] == "/large" else b"small"
    length = str(len(body)).encode()
    headers = [(b"content-length", length)]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture
def port() -> Iterator[int]:
    """A server that looks at its connections five times a second."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        config = uvicorn.Config(app, http=Hasty, ws="none", lifespan="off", log_config=None)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listener])))
        thread.start()
        yield listener.getsockname()[1]
        server.should_exit = True
        thread.join(20)


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=20)


@pytest.mark.parametrize(
    "beginning",
    [
        b"",
        b"GET / HTT",
        b"GET / HTTP/1.1\r\nhost: x\r\n",
        b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nab",
    ],
)
def test_who_never_ends_a_request_is_cut_off(port: int, beginning: bytes) -> None:
    with connect(port) as connection:
        connection.sendall(beginning)
        assert receive_all(connection) == b""


def test_who_takes_nothing_of_an_answer_is_cut_off(port: int) -> None:
    with connect(port) as connection:
        connection.sendall(b"GET /large HTTP/1.1\r\nhost: x\r\n\r\n")
        # What the system has taken from the server by then is less than all.
        time.sleep(1.5)
        assert len(receive_all(connection)) < len(LARGE)


def test_who_is_merely_slow_is_not(port: int) -> None:
    with connect(port) as connection:
        connection.sendall(b"GET /large HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        received = 0
        while chunk := connection.recv(1 << 20):
            received += len(chunk)
            time.sleep(0.01)
        assert received > len(LARGE)


def test_connections_leave_room_for_files() -> None:
    assert 64 <= limit_connections() < find_file_limit()
