"""An S3 server on loopback that records the requests it receives.

It needs moto and s3fs, which only the full tier installs; tests that use its fixtures are slow.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest


class Request(NamedTuple):
    method: str
    path: str
    range: str | None
    sent_bytes: int


class Meter:
    """Pass requests on to the server and keep a list of them."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self.requests: list[Request] = []

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        body = b"".join(self._app(environ, start_response))
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
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
