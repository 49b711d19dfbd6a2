"""An S3 server on loopback that records the requests it receives.

It needs moto and s3fs, which only the full tier installs; tests that use its fixtures are slow.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

import pytest


class Request(NamedTuple):
    method: str
    path: str
    range: str | None
    sent_bytes: int


#: What a store may do instead of answering: an error status, closing the connection, or a body that
#: is shorter than announced.
Fault = Literal["500", "503", "drop", "short"]

_STATUS = {"500": "500 Internal Server Error", "503": "503 Slow Down"}
_ERROR = "<Error><Code>{code}</Code><Message>Please reduce your request rate.</Message></Error>"


class Meter:
    """Pass requests on to the server and keep a list of them.

    Attributes:
        faults: What goes wrong with the next requests for objects or listings, one after the other.
        barrier: Requests for parts of objects wait here for each other.
    """

    def __init__(self, app: Any) -> None:
        self._app = app
        self.requests: list[Request] = []
        self.faults: list[Fault] = []
        self.barrier: threading.Barrier | None = None

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        if self.barrier is not None and "HTTP_RANGE" in environ:
            self.barrier.wait(60)
        fault = self.faults.pop(0) if self.faults and method == "GET" else None
        if fault in _STATUS:
            code = "SlowDown" if fault == "503" else "InternalError"
            body = _ERROR.format(code=code).encode()
            start_response(_STATUS[fault], [("Content-Type", "application/xml")])
        else:
            body = b"".join(self._app(environ, start_response))
        if fault == "drop":
            environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
        if fault == "short":
            body = body[: len(body) // 2]  # of the length that the headers announce
        self.requests.append(Request(method, path, environ.get("HTTP_RANGE"), len(body)))
        return [body]


@contextmanager
def serve_s3() -> Iterator[tuple[str, Meter]]:
    """Run a server; yield its address and its meter."""
    moto = pytest.importorskip("moto.moto_server.werkzeug_app")
    serving = pytest.importorskip("werkzeug.serving")
    quiet = type("Quiet", (serving.WSGIRequestHandler,), {"log_request": lambda *args: None})

    meter = Meter(moto.DomainDispatcherApplication(moto.create_backend_app))
    server = serving.make_server("127.0.0.1", 0, meter, threaded=True, request_handler=quiet)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.port}", meter
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
