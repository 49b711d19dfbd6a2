"""The Starlette application: routes, middleware, and the threads that run while it serves."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.routing import BaseRoute, Mount
from starlette.types import Lifespan

from tracklight.notes.place import find_book
from tracklight.notes.store import Store
from tracklight.plugin_base import Context, Route
from tracklight.server import problems
from tracklight.server.alerts import NO_ALERTS, Alerts, AlertSettings
from tracklight.server.api import Api
from tracklight.server.blobs import Blobs
from tracklight.server.follow import Follower
from tracklight.server.health import health_route
from tracklight.server.live import Live
from tracklight.server.metrics import Meter, Tally, metrics_route
from tracklight.server.notes import Notes
from tracklight.server.openapi import openapi_route
from tracklight.server.overview import Overview
from tracklight.server.page import PAGE_DIR, page_route, plugin_routes
from tracklight.server.plugins import Plugins
from tracklight.server.routes import LateRouter, web_routes
from tracklight.server.run_columns import RunColumns
from tracklight.server.security import Guard, Policy
from tracklight.server.source import Source, Watch
from tracklight.server.stream import stream_route
from tracklight.server.tidy import Tidy
from tracklight.server.turns import Turns
from tracklight.server.warmth import Warmth


class BoardApp(Starlette):
    """The application of a board.

    Attributes:
        live: The live update streams, which a server has to end before it waits for open
            connections to close.
        list_routes: Returns the routes below ``api/``, to document them.
    """

    def __init__(
        self,
        routes: Sequence[BaseRoute],
        middleware: Sequence[Middleware],
        lifespan: Lifespan[Starlette],
        *,
        live: Live,
        list_routes: Callable[[], Sequence[Route]],
    ) -> None:
        handlers = problems.handlers()
        # Starlette handles `Exception` outside of all middleware. Handle it inside as well, so that
        # the responses to unexpected errors have the security headers and are counted.
        innermost = Middleware(ExceptionMiddleware, handlers=handlers)
        super().__init__(
            routes=routes,
            middleware=[*middleware, innermost],
            exception_handlers=handlers,
            lifespan=lifespan,
        )
        self.live = live
        self.list_routes = list_routes


def create_app(
    catalog: Source,
    watch: Watch,
    policy: Policy,
    *,
    path_prefix: str = "",
    page_dir: Path = PAGE_DIR,
    alerts: AlertSettings = NO_ALERTS,
    window_title: str = "",
) -> BoardApp:
    """Create an application that serves ``catalog`` and keeps it up to date while it runs."""
    follower = Follower(catalog, watch)
    overview = Overview(catalog)
    live = Live(catalog, overview, follower)
    plugins = _load_plugins(catalog, overview, live)
    store = Store(find_book(root.path for root in catalog.roots))
    watchman = Alerts(catalog, store, live, alerts)
    follower.listeners += [watchman.hear, Warmth(catalog, overview, plugins).hear]
    tally = Tally()

    def list_routes() -> list[Route]:
        return [*own, *plugins.routes()]

    own = [
        health_route(follower),
        *Api(catalog, overview, live, plugins).routes(),
        *live.routes(),
        *Blobs(catalog).routes(),
        *RunColumns(catalog, overview).routes(),
        *Notes(store, watchman).routes(),
        openapi_route(list_routes),
    ]
    routes: list[BaseRoute] = [
        Mount("/api", routes=[*web_routes(own), stream_route(live), *_dashboard_routes(plugins)]),
        metrics_route(live, overview, tally),
        *plugin_routes(plugins.found.values()),
        page_route(page_dir, window_title),
    ]
    middleware = [
        Middleware(Meter, tally=tally),
        Middleware(Tidy),
        Middleware(Guard, policy=policy, open_path=_join_path(path_prefix, "api/health")),
        Middleware(Turns, endless_path=_join_path(path_prefix, "api/live")),
    ]

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        live.bell.attach()
        watchman.start()
        follower.start()
        try:
            yield
        finally:
            live.bell.end()
            follower.stop()
            watchman.stop()
            plugins.close()

    return BoardApp(
        _add_prefix(path_prefix, routes), middleware, lifespan, live=live, list_routes=list_routes
    )


def _load_plugins(catalog: Source, overview: Overview, live: Live) -> Plugins:
    plugins = Plugins(
        Context(
            catalog,
            overview.scalar_tags,
            overview.runs_with_scalar,
            live.history.cursor,
            problems.describe,
        )
    )
    live.remarks.extend(plugins.problems)
    return plugins


def _dashboard_routes(plugins: Plugins) -> list[BaseRoute]:
    """Mount every dashboard below its name; its code is loaded on the first request."""
    return [
        Mount(f"/{found.name}", app=LateRouter(found.get_routes))
        for found in plugins.found.values()
    ]


def _join_path(path_prefix: str, leaf: str) -> str:
    prefix = path_prefix.strip("/")
    return f"/{prefix}/{leaf}" if prefix else f"/{leaf}"


def _add_prefix(path_prefix: str, routes: list[BaseRoute]) -> list[BaseRoute]:
    prefix = path_prefix.strip("/")
    return [Mount(f"/{prefix}", routes=routes)] if prefix else routes
