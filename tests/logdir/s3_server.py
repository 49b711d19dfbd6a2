"""A real S3 protocol server on loopback that writes down what was asked of it."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server


class Request(NamedTuple):
    method: str
    path: str
    range: str | None
    sent_bytes: int


class Meter:
    """Passes requests on to the server and keeps a list of them."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self.requests: list[Request] = []

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        body = b"".join(self._app(environ, start_response))
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        self.requests.append(Request(method, path, environ.get("HTTP_RANGE"), len(body)))
        return [body]


class _Quiet(WSGIRequestHandler):
    def log_request(self, *args: object) -> None:
        pass


@contextmanager
def serve_s3() -> Iterator[tuple[str, Meter]]:
    """Run a server; give its address and its meter."""
    meter = Meter(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, meter, threaded=True, request_handler=_Quiet)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.port}", meter
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
