"""What somebody who starts a server says about who gets in."""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.routing import BaseRoute, Mount
from starlette.types import Lifespan

from tracklight.analysis.source import Context
from tracklight.errors import UsageError
from tracklight.plugin import Route
from tracklight.server import responses
from tracklight.server.alerts.monitor import NO_ALERTS, AlertService, AlertSettings
from tracklight.server.api import BlobApi, LogApi, NotesApi, RunTableApi, create_health_route
from tracklight.server.auth import (
    AccessMiddleware,
    AccessPolicy,
    create_policy,
    is_loopback,
    parse_users,
)
from tracklight.server.events import LiveUpdates
from tracklight.server.middleware import (
    ConcurrencyLimitMiddleware,
    MemoryTrimMiddleware,
    MetricsMiddleware,
    RequestStats,
    create_metrics_route,
    create_stream_route,
)
from tracklight.server.notes import NotesStore
from tracklight.server.page import PAGE_DIR, create_page_route, create_plugin_routes
from tracklight.server.plugins import DashboardRegistry, Prewarmer
from tracklight.server.routing import LazyRouter, create_openapi_route, create_routes
from tracklight.server.source import LogOverview, LogSource, LogWatcher, Refresher
from tracklight.util.user_dirs import get_notes_path


@dataclass(frozen=True)
class AuthSettings:
    """Nothing said: localhost is open to who is on this machine, all else asks for a token."""

    users: tuple[str, ...] = ()
    """Who may come in by name and password, each as ``user:hash``."""
    tls_cert: Path | None = None
    tls_key: Path | None = None
    read_only: bool = False

    def __post_init__(self) -> None:
        if (self.tls_cert is None) != (self.tls_key is None):
            raise UsageError("give --tls-cert and --tls-key together, or neither")
        for path in (self.tls_cert, self.tls_key):
            if path is not None and not path.is_file():
                raise UsageError(f'there is no file "{path}" for TLS')

    @property
    def scheme(self) -> str:
        return "https" if self.tls_cert else "http"

    def create_policy(
        self, host: str, trusted_hosts: Iterable[str], open_to_all: bool
    ) -> AccessPolicy:
        """The policy of a server bound to ``host``.

        A token that is to stay the same, and one for notebooks behind a proxy, come from the
        environment, where other users of the machine do not see them as they see flags.
        """
        users = parse_users(self.users)
        token = os.environ.get("TRACKLIGHT_TOKEN") or None
        if token is None and not (open_to_all or users or is_loopback(host)):
            token = secrets.token_urlsafe(16)
        proxy_token = os.environ.get("TRACKLIGHT_PROXY_TOKEN") or None
        return create_policy(host, trusted_hosts, token, users, proxy_token, self.read_only)


#: Nothing was said.
DEFAULT_AUTH = AuthSettings()


# All that a server is told when it is started.

#: Listening there is listening at every address of the machine, of either kind.
ALL_INTERFACES = ""


@dataclass(frozen=True)
class Settings:
    """Where a board is served, to whom, and how.

    Port 0 takes a free one; no port at all takes 6006, or the next after it that is free. Bound
    to other than this machine, the address carries a token without which nobody gets in, unless
    ``open_to_all`` waives that. A ``reload_interval_s`` of 0 reads the log once.
    """

    host: str = "localhost"
    port: int | None = None
    path_prefix: str = ""
    trusted_hosts: tuple[str, ...] = ()
    open_to_all: bool = False
    auth: AuthSettings = DEFAULT_AUTH
    window_title: str = ""
    reload_interval_s: float | None = None
    reuse_port: bool = False
    alerts: AlertSettings = NO_ALERTS


# The Starlette application: routes, middleware, and the threads that run while it serves.


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
        live: LiveUpdates,
        list_routes: Callable[[], Sequence[Route]],
    ) -> None:
        handlers = responses.get_exception_handlers()
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
    catalog: LogSource,
    watch: LogWatcher,
    policy: AccessPolicy,
    *,
    path_prefix: str = "",
    page_dir: Path = PAGE_DIR,
    alerts: AlertSettings = NO_ALERTS,
    window_title: str = "",
) -> BoardApp:
    """Create an application that serves ``catalog`` and keeps it up to date while it runs."""
    follower = Refresher(catalog, watch)
    overview = LogOverview(catalog)
    live = LiveUpdates(catalog, overview, follower)
    plugins = _load_dashboards(catalog, overview, live)
    store = NotesStore(get_notes_path(root.path for root in catalog.roots))
    watchman = AlertService(catalog, store, live, alerts)
    follower.listeners += [watchman.on_refresh, Prewarmer(catalog, overview, plugins).on_refresh]
    tally = RequestStats()

    def list_routes() -> list[Route]:
        return [*own, *plugins.routes()]

    own = [
        create_health_route(follower),
        *LogApi(catalog, overview, live, plugins).routes(),
        *live.routes(),
        *BlobApi(catalog).routes(),
        *RunTableApi(catalog, overview).routes(),
        *NotesApi(store, watchman).routes(),
        create_openapi_route(list_routes),
    ]
    routes: list[BaseRoute] = [
        Mount(
            "/api",
            routes=[
                *create_routes(own),
                create_stream_route(live),
                *_create_dashboard_routes(plugins),
            ],
        ),
        create_metrics_route(live, overview, tally),
        *create_plugin_routes(plugins.entries.values()),
        create_page_route(page_dir, window_title),
    ]
    middleware = [
        Middleware(MetricsMiddleware, stats=tally),
        Middleware(MemoryTrimMiddleware),
        Middleware(
            AccessMiddleware, policy=policy, public_path=_join_path(path_prefix, "api/health")
        ),
        Middleware(ConcurrencyLimitMiddleware, stream_path=_join_path(path_prefix, "api/live")),
    ]

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        live.notifier.attach_loop()
        watchman.start()
        follower.start()
        try:
            yield
        finally:
            live.notifier.close()
            follower.stop()
            watchman.stop()
            plugins.close()

    return BoardApp(
        _add_prefix(path_prefix, routes), middleware, lifespan, live=live, list_routes=list_routes
    )


def _load_dashboards(
    catalog: LogSource, overview: LogOverview, live: LiveUpdates
) -> DashboardRegistry:
    plugins = DashboardRegistry(
        Context(
            catalog,
            overview.scalar_tags,
            overview.runs_with_scalar,
            live.history.cursor,
            responses.describe_error,
        )
    )
    live.server_problems.extend(plugins.problems)
    return plugins


def _create_dashboard_routes(plugins: DashboardRegistry) -> list[BaseRoute]:
    """Mount every dashboard below its name; its code is loaded on the first request."""
    return [
        Mount(f"/{found.name}", app=LazyRouter(found.get_routes))
        for found in plugins.entries.values()
    ]


def _join_path(path_prefix: str, leaf: str) -> str:
    prefix = path_prefix.strip("/")
    return f"/{prefix}/{leaf}" if prefix else f"/{leaf}"


def _add_prefix(path_prefix: str, routes: list[BaseRoute]) -> list[BaseRoute]:
    prefix = path_prefix.strip("/")
    return [Mount(f"/{prefix}", routes=routes)] if prefix else routes
