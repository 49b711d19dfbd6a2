"""Web servers on loopback that serve a directory, each with its own limits."""

from __future__ import annotations

import html
import http.server
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote


class Request(NamedTuple):
    method: str
    path: str
    range: str | None


class PlainHandler(http.server.SimpleHTTPRequestHandler):
    """Python's file server: directory listings and sizes, but no ranges."""

    requests: list[Request]

    def parse_request(self) -> bool:
        parsed = super().parse_request()
        if parsed:
            self.requests.append(Request(self.command, self.path, self.headers.get("Range")))
        return parsed

    def log_message(self, format: str, *args: object) -> None:
        pass


class NginxHandler(PlainHandler):
    """Responds like nginx with ``autoindex on``: its listings, ranges and entity tags."""

    protocol_version = "HTTP/1.1"

    def list_directory(self, path: str | os.PathLike[str]) -> None:  # type: ignore[override]
        lines = ['<a href="../">../</a>']
        for entry in sorted(os.scandir(path), key=lambda entry: entry.name):
            name = entry.name + ("/" if entry.is_dir() else "")
            size = "-" if entry.is_dir() else entry.stat().st_size
            lines.append(
                f'<a href="{quote(name)}">{html.escape(name)}</a>  16-Nov-2026 04:00  {size}'
            )
        title = f"Index of {html.escape(self.path)}"
        head = f"<html>\r\n<head><title>{title}</title></head>\r\n<body>\r\n<h1>{title}</h1><hr>"
        page = f"{head}<pre>{chr(10).join(lines)}\r\n</pre><hr></body>\r\n</html>\r\n".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        requested = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if not path.is_file() or requested is None:
            super().do_GET()
            return
        data = path.read_bytes()
        start, stop = int(requested[1]), min(int(requested[2]) + 1, len(data))
        if start >= len(data):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(data)}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {start}-{stop - 1}/{len(data)}")
        self.send_header("Content-Length", str(stop - start))
        self.end_headers()
        self.wfile.write(data[start:stop])


class BareHandler(PlainHandler):
    """No HEAD, ranges or Content-Length: the end of the connection ends the body."""

    def do_HEAD(self) -> None:
        self.send_error(501, "no HEAD here")

    def send_header(self, keyword: str, value: str) -> None:
        if keyword not in ("Content-Length", "Last-Modified"):
            super().send_header(keyword, value)


class DeniedHandler(PlainHandler):
    """Denies all requests."""

    def do_GET(self) -> None:
        self.send_error(403)


class WebServer(NamedTuple):
    url: str
    requests: list[Request]


@contextmanager
def serve_directory(
    directory: Path, handler: type[PlainHandler] = PlainHandler
) -> Iterator[WebServer]:
    """Serve a directory on a free port of the loopback interface."""
    requests: list[Request] = []
    kind = type("Handler", (handler,), {"requests": requests})
    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(kind, directory=str(directory))
    ) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield WebServer(f"http://127.0.0.1:{server.server_port}", requests)
        finally:
            server.shutdown()
            thread.join()
