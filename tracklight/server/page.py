"""The built page: files whose names hold a hash never change, the rest is asked for each time."""

from __future__ import annotations

import os
from pathlib import Path

from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from tracklight.plugin import Dashboard

#: Who works on the page builds it elsewhere, so that several copies of it can be looked at.
PAGE_DIR = Path(os.environ.get("TRACKLIGHT_PAGE") or Path(__file__).parent / "static")

_NOT_BUILT = (
    "The page of this tracklight was not built, so only its data can be had, under api/.\n"
    "Install it again with 'pip install .', or run 'npm ci && npm run build' in web/.\n"
)
_FOREVER = "public, max-age=31536000, immutable"


class PageFiles(StaticFiles):
    """The page's files with the right word to caches."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        answer = await super().get_response(path, scope)
        hashed = Path(path).parts[:1] == ("assets",)
        answer.headers["cache-control"] = _FOREVER if hashed else "no-cache"
        return answer


def page_route(page_dir: Path) -> BaseRoute:
    """The page, or a sentence where it should be."""
    if (page_dir / "index.html").is_file():
        return Mount("/", GZipMiddleware(PageFiles(directory=page_dir, html=True)))
    return Route("/", _say_not_built)


def plugin_route(dashboard: Dashboard) -> BaseRoute:
    """The web half of a dashboard that is not tracklight's own, and nothing outside its folder."""
    files = PageFiles(directory=dashboard.module)
    return Mount(f"/plugins/{dashboard.name}", GZipMiddleware(files))


async def _say_not_built(_: Request) -> Response:
    return PlainTextResponse(_NOT_BUILT, status_code=503)
