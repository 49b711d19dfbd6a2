"""The web application: routes, checks and the thread that follows the log."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.routing import BaseRoute, Mount, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from tracklight.notes.place import find_book
from tracklight.notes.store import Store
from tracklight.plugin import Context, Route
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


@dataclass(frozen=True)
class BoardApp:
    """The application of a board, and what those who run it have to know of its inside.

    It is not a `Starlette`, with which comes a page for debugging, and half a megabyte.
    """

    answer: ASGIApp
    #: Within which it follows its log; who mounts it has to enter it.
    lifespan: Callable[[], AbstractAsyncContextManager[None]]
    #: What a server ends before it waits for open connections to close.
    live: Live
    #: The routes below ``api/``, for who documents them.
    list_routes: Callable[[], Sequence[Route]]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Without an application, routers answer by themselves to what they do not find.
        scope["app"] = self
        await self.answer(scope, receive, send)


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
    """An application that serves ``catalog`` and, while it runs, keeps it fresh."""
    follower = Follower(catalog, watch)
    overview = Overview(catalog)
    live = Live(catalog, overview, follower)
    plugins = _load_plugins(catalog, overview, live)
    store = Store(find_book(root.path for root in catalog.roots))
    watchman = Alerts(catalog, store, live, alerts)
    follower.listeners += [watchman.hear, Warmth(overview, plugins).hear]
    tally = Tally()
    own = [
        health_route(follower),
        *Api(catalog, overview, live, plugins).routes(),
        *live.routes(),
        *Blobs(catalog).routes(),
        *RunColumns(catalog, overview).routes(),
        *Notes(store, watchman).routes(),
        openapi_route(lambda: [*own, *plugins.routes()]),
    ]
    routes: list[BaseRoute] = [
        Mount("/api", routes=[*web_routes(own), stream_route(live), *_late_routes(plugins)]),
        metrics_route(live, overview, tally),
        *plugin_routes(plugins.found.values()),
        page_route(page_dir, window_title),
    ]

    def lifespan(_: object = None) -> AbstractAsyncContextManager[None]:
        return _run(live, follower, watchman, plugins)

    answer = _answer_errors(Router(_put_below(path_prefix, routes), lifespan=lifespan))
    answer = Turns(answer, endless_path=_find_path(path_prefix, "api/live"))
    answer = Guard(answer, policy=policy, open_path=_find_path(path_prefix, "api/health"))
    answer = _answer_errors(Meter(Tidy(answer), tally=tally))
    return BoardApp(answer, lifespan, live, lambda: [*own, *plugins.routes()])


def _answer_errors(app: ASGIApp) -> ASGIApp:
    """Around the routes, so that the answer passes all checks, and around the checks themselves."""
    return ExceptionMiddleware(app, problems.handlers())


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


def _late_routes(plugins: Plugins) -> list[BaseRoute]:
    """Those of dashboards, of which each is loaded when somebody opens it."""
    return [
        Mount(f"/{found.name}", app=LateRouter(found.get_routes))
        for found in plugins.found.values()
    ]


def _find_path(path_prefix: str, leaf: str) -> str:
    prefix = path_prefix.strip("/")
    return f"/{prefix}/{leaf}" if prefix else f"/{leaf}"


def _put_below(path_prefix: str, routes: list[BaseRoute]) -> list[BaseRoute]:
    prefix = path_prefix.strip("/")
    return [Mount(f"/{prefix}", routes=routes)] if prefix else routes


@asynccontextmanager
async def _run(
    live: Live, follower: Follower, watchman: Alerts, plugins: Plugins
) -> AsyncIterator[None]:
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
