"""Serve the built page and the web files of plugins.

Files below ``assets/`` have a hash in their name and never change; all others are revalidated.
Starlette's `StaticFiles` neither compresses nor sets the window title, so files are sent here.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterable
from functools import partial
from html import escape
from pathlib import Path

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from tracklight.errors import Message
from tracklight.server.middleware import run_in_thread
from tracklight.server.plugins import DashboardEntry
from tracklight.server.responses import (
    IMMUTABLE_CACHE_CONTROL,
    HttpError,
    compress,
    create_compressed_response,
)
from tracklight.util.memory import LruCache

#: Developers of the page set the variable to test several builds side by side.
PAGE_DIR = Path(os.environ.get("TRACKLIGHT_PAGE") or Path(__file__).parent / "static")

_NOT_BUILT = (
    "The web page was not built; only the data below api/v1/ is available.\n"
    "Reinstall tracklight with 'pip install .', or run 'npm ci && npm run build' in web/.\n"
)
_TITLE = re.compile(rb"<title>.*?</title>")
_MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".jpg": "image/jpeg",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".mjs": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
}

#: Compressed files, by path and entity tag: compressing the code takes 14 ms of a page load.
_compressed = LruCache[tuple[str, str], bytes](max_bytes=2 << 20, idle_s=60)


def create_page_route(page_dir: Path, window_title: str = "") -> Route:
    """Create the route of the page, or of an explanation if the page was not built."""
    if (page_dir / "index.html").is_file():
        return _create_folder_route("/", page_dir, window_title)
    return Route("/", _respond_not_built)


def create_plugin_routes(entries: Iterable[DashboardEntry]) -> list[Route]:
    """Create the routes of the web files of third-party dashboards, below ``plugins/``."""
    return [
        _create_folder_route(f"/{entry.name}/", entry.web_dir) for entry in entries if entry.web_dir
    ]


def _create_folder_route(prefix: str, folder: Path, window_title: str = "") -> Route:
    async def send_file(request: Request) -> Response:
        path = request.path_params["path"] or "index.html"
        title = window_title if path == "index.html" else ""
        return await run_in_thread(
            request.scope, _create_file_response, folder, path, request.headers, title
        )

    return Route(prefix + "{path:path}", send_file)


def _create_file_response(
    folder: Path, path: str, request_headers: Headers, title: str
) -> Response:
    file = _find_file(folder, path)
    if file is None:
        raise HttpError(404, Message.format("http.no_file", 'there is no file "{path}"', path=path))
    stat = file.stat()
    etag = f'W/"{stat.st_mtime_ns:x}-{stat.st_size:x}-{zlib.crc32(title.encode()):x}"'
    if etag in request_headers.get("if-none-match", ""):
        response = Response(status_code=304)
    else:
        media_type = _MEDIA_TYPES.get(file.suffix, "application/octet-stream")
        content = _insert_title(file.read_bytes(), title)

        def compress_once(body: bytes, media_type: str) -> bytes | None:
            build = partial(_compress, body, media_type)
            return _compressed.get_or_build((str(file), etag), build, len) or None

        response = create_compressed_response(content, media_type, request_headers, compress_once)
    is_immutable = path.startswith("assets/")
    response.headers["cache-control"] = IMMUTABLE_CACHE_CONTROL if is_immutable else "no-cache"
    response.headers["etag"] = etag
    return response


def _compress(body: bytes, media_type: str) -> bytes:
    return compress(body, media_type) or b""


def _insert_title(page: bytes, title: str) -> bytes:
    if not title:
        return page
    return _TITLE.sub(lambda _: f"<title>{escape(title)}</title>".encode(), page, count=1)


def _find_file(folder: Path, path: str) -> Path | None:
    """Return the file at ``path``; None if there is none or a link leads out of the folder."""
    try:
        file = (folder / path).resolve()
        is_inside = file.is_relative_to(folder.resolve()) and file.is_file()
    except (OSError, ValueError):  # names that no file can have
        return None
    return file if is_inside else None


async def _respond_not_built(_: Request) -> Response:
    return PlainTextResponse(_NOT_BUILT, status_code=503)
