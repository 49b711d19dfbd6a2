"""Serve the built page and the web files of plugins.

Files below ``assets/`` have a hash in their name and never change; all others are revalidated.
Starlette's `StaticFiles` neither compresses nor sets the window title, so files are sent here.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterable
from html import escape
from pathlib import Path

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from tracklight.server.middleware import run_in_thread
from tracklight.server.plugins import DashboardEntry
from tracklight.server.responses import IMMUTABLE_CACHE_CONTROL, create_compressed_response

#: Who works on the page builds it elsewhere, so that several copies of it can be looked at.
PAGE_DIR = Path(os.environ.get("TRACKLIGHT_PAGE") or Path(__file__).parent / "static")

_NOT_BUILT = (
    "The page of this tracklight was not built, so only its data can be had, under api/.\n"
    "Install it again with 'pip install .', or run 'npm ci && npm run build' in web/.\n"
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


def create_page_route(page_dir: Path, window_title: str = "") -> Route:
    """The page, or a sentence where it should be."""
    if (page_dir / "index.html").is_file():
        return _create_folder_route("/", page_dir, window_title)
    return Route("/", _respond_not_built)


def create_plugin_routes(dashboards: Iterable[DashboardEntry]) -> list[Route]:
    """The web halves of dashboards that are not tracklight's own, and nothing beside them."""
    return [
        _create_folder_route(f"/plugins/{it.name}/", it.web_dir) for it in dashboards if it.web_dir
    ]


def _create_folder_route(place: str, folder: Path, window_title: str = "") -> Route:
    async def answer(request: Request) -> Response:
        path = request.path_params["path"] or "index.html"
        title = window_title if path == "index.html" else ""
        return await run_in_thread(
            request.scope, _create_file_response, folder, path, request.headers, title
        )

    return Route(place + "{path:path}", answer)


def _create_file_response(folder: Path, path: str, asked: Headers, title: str) -> Response:
    file = _find_file(folder, path)
    if file is None:
        raise HTTPException(404, f'there is nothing at "{path}"')
    stat = file.stat()
    tag = f'W/"{stat.st_mtime_ns:x}-{stat.st_size:x}-{zlib.crc32(title.encode()):x}"'
    if tag in asked.get("if-none-match", ""):
        answer = Response(status_code=304)
    else:
        media_type = _MEDIA_TYPES.get(file.suffix, "application/octet-stream")
        answer = create_compressed_response(
            _insert_title(file.read_bytes(), title), media_type, asked
        )
    hashed = path.startswith("assets/")
    answer.headers["cache-control"] = IMMUTABLE_CACHE_CONTROL if hashed else "no-cache"
    answer.headers["etag"] = tag
    return answer


def _insert_title(page: bytes, title: str) -> bytes:
    if not title:
        return page
    return _TITLE.sub(lambda _: f"<title>{escape(title)}</title>".encode(), page, count=1)


def _find_file(folder: Path, path: str) -> Path | None:
    """The file at ``path``, if it is one and lies in the folder, wherever links lead."""
    try:
        file = (folder / path).resolve()
        is_inside = file.is_relative_to(folder.resolve()) and file.is_file()
    except (OSError, ValueError):  # names that no file can have
        return None
    return file if is_inside else None


async def _respond_not_built(_: Request) -> Response:
    return PlainTextResponse(_NOT_BUILT, status_code=503)
