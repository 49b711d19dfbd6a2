"""The settings of a server and its Starlette application: routes, middleware, background threads.

Start reading at `create_app`.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import cast

import msgspec
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.routing import BaseRoute, Mount
from starlette.types import Lifespan

from tracklight.analysis.derived_metrics import DerivedLog
from tracklight.analysis.source import NO_ACCESS, Context, DataAccess
from tracklight.errors import UsageError
from tracklight.plugin import Blob, Route
from tracklight.server.alerts.monitor import NO_ALERTS, AlertService, AlertSettings
from tracklight.server.api import BlobApi, LogApi, create_health_route
from tracklight.server.auth import (
    AccessMiddleware,
    AccessPolicy,
    create_policy,
    is_loopback,
    parse_users,
)
from tracklight.server.events import HEARTBEAT_S, LiveUpdates, create_stream_route
from tracklight.server.middleware import (
    AuditLog,
    AuditMiddleware,
    ConcurrencyLimitMiddleware,
    MemoryTrimMiddleware,
    MetricsMiddleware,
    RequestStats,
    create_metrics_route,
)
from tracklight.server.notes import NotesApi, NotesStore
from tracklight.server.plugins import (
    DashboardEntry,
    DashboardMonitor,
    DashboardRegistry,
    Prewarmer,
)
from tracklight.server.responses import describe_error, get_exception_handlers
from tracklight.server.routing import (
    API_PREFIX,
    PAGE_DIR,
    LazyRouter,
    create_openapi_route,
    create_page_route,
    create_plugin_routes,
    create_routes,
)
from tracklight.server.run_table import RunListApi, RunTableApi
from tracklight.server.run_table.run_columns import RunColumnsApi
from tracklight.server.run_table.run_details import RunDetailsApi
from tracklight.server.source import LogOverview, LogSource, LogWatcher, Refresher
from tracklight.util.files import get_notes_path

#: As a host: listen on all interfaces, IPv4 and IPv6.
ALL_INTERFACES = ""


# ---- settings


@dataclass(frozen=True)
class AuthSettings:
    """Who may use a server, and TLS.

    By default, a server on localhost is open to everybody on this machine, and any other one
    requires a token.

    Raises:
        UsageError: Only one of the TLS files is given, or one does not exist.
    """

    users: tuple[str, ...] = ()
    """Users with passwords, each as ``user:hash``."""
    tls_cert: Path | None = None
    tls_key: Path | None = None
    read_only: bool = False
    writers: tuple[str, ...] | None = None
    """The users that may change notes, layouts and alert rules; None for everybody."""
    user_header: str = ""
    """The header in which a reverse proxy sends the name of the user."""

    def __post_init__(self) -> None:
        if (self.tls_cert is None) != (self.tls_key is None):
            raise UsageError("--tls-cert and --tls-key must be given together")
        for path in (self.tls_cert, self.tls_key):
            if path is not None and not path.is_file():
                raise UsageError(f'the TLS file "{path}" does not exist')

    @property
    def scheme(self) -> str:
        return "https" if self.tls_cert else "http"

    def create_policy(
        self,
        host: str,
        trusted_hosts: Iterable[str],
        open_to_all: bool,
        embed_origins: Iterable[str] = (),
    ) -> AccessPolicy:
        """Create the policy of a server that listens on ``host``.

        A fixed token, and one for notebooks behind a proxy, come from the environment: other
        users of the machine can see command-line flags, but not the environment.
        """
        users = parse_users(self.users)
        token = os.environ.get("TRACKLIGHT_TOKEN") or None
        if token is None and not (open_to_all or users or is_loopback(host)):
            token = secrets.token_urlsafe(16)
        proxy_token = os.environ.get("TRACKLIGHT_PROXY_TOKEN") or None
        return create_policy(
            host,
            trusted_hosts,
            token,
            users,
            proxy_token,
            self.read_only,
            embed_origins,
            self.writers,
            self.user_header,
        )


DEFAULT_AUTH = AuthSettings()


@dataclass(frozen=True)
class Settings:
    """Where and how a log is served."""

    host: str = "localhost"
    port: int | None = None
    """0 uses any free port; None uses 6006, or the next free port after it."""
    path_prefix: str = ""
    trusted_hosts: tuple[str, ...] = ()
    embed_origins: tuple[str, ...] = ()
    """Sites that may show the page in a frame; ``*`` for all."""
    open_to_all: bool = False
    """Require no token although the server can be reached from other machines."""
    auth: AuthSettings = DEFAULT_AUTH
    window_title: str = ""
    reload_interval_s: float | None = None
    """0 reads the log once; None watches it."""
    reuse_port: bool = False
    alerts: AlertSettings = NO_ALERTS
    access: DataAccess = NO_ACCESS
    audit_log: AuditLog | None = None
    heartbeat_s: float = HEARTBEAT_S
    """The longest time without an event on a live update stream."""


# ---- static exports


class StaticExportRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Requests the export of a view; ``view`` is the URL of the page or its query string."""

    view: str = ""


class StaticExportApi:
    """Exports views of a log as single HTML files."""

    def __init__(self, source: LogSource, overview: LogOverview, access: DataAccess) -> None:
        self._source = source
        self._overview = overview
        self._access = access

    def routes(self) -> list[Route]:
        return [Route("export", StaticExportRequest, self.export)]

    def export(self, request: StaticExportRequest) -> Blob:
        """Return a page with the runs of a view, which needs no server."""
        # Slow to import, and seldom needed.
        from tracklight.server.static_export import ExportContents, build_page, parse_view

        contents = ExportContents(
            self._source,
            parse_view(request.view),
            self._overview.runs(),
            {tag.tag for tag in self._overview.tags()},
            self._access,
        )
        return Blob(build_page(contents).encode(), "text/html; charset=utf-8", "tracklight.html")


# ---- the application


class BoardApp(Starlette):
    """The application that serves a log.

    Attributes:
        live: The live update streams. A server has to close them before it waits for open
            connections to end.
        list_routes: Returns the routes below `API_PREFIX`, to document them.
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
        handlers = get_exception_handlers()
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
    source: LogSource,
    watcher: LogWatcher,
    policy: AccessPolicy,
    *,
    path_prefix: str = "",
    page_dir: Path = PAGE_DIR,
    alerts: AlertSettings = NO_ALERTS,
    window_title: str = "",
    access: DataAccess = NO_ACCESS,
    audit_log: AuditLog | None = None,
    heartbeat_s: float = HEARTBEAT_S,
) -> BoardApp:
    """Create an application that serves a log and keeps it up to date while it runs.

    Args:
        source: The log.
        watcher: Reports changes of the log directories.
        policy: Who may send requests.
        path_prefix: The path below which everything is served.
        page_dir: The folder with the built page.
        alerts: Alert rules and webhook.
        window_title: The title of the browser window.
        access: What dashboards may read and run besides the log.
        audit_log: Gets a line for every request that changes something.
        heartbeat_s: The longest time without an event on a live update stream.
    """
    store = NotesStore(get_notes_path(root.path for root in source.roots))
    log, derived = source, DerivedLog(source, store.read_metrics)
    source = cast(LogSource, derived)
    refresher = Refresher(source, watcher)
    overview = LogOverview(source)
    live = LiveUpdates(source, overview, refresher, heartbeat_s=heartbeat_s)
    run_columns = RunColumnsApi(source, overview, derived.find_state)
    run_table = RunTableApi(source, overview, run_columns, store.read)
    run_list = RunListApi(run_table.get_table)

    def find_changed_runs(cursor: str, tags: Sequence[str]) -> frozenset[str] | None:
        # A derived metric may depend on other runs, and on its definition.
        if any(derived.find_state(tag) is not None for tag in tags):
            return None
        return live.history.find_changed_runs(cursor, log.version)

    registry = DashboardRegistry(
        Context(
            source,
            overview.scalar_tags,
            overview.runs_with_scalar,
            live.history.cursor,
            describe_error,
            access,
            # Notes hide and label runs, which changes what a query of runs returns.
            state=lambda: f"{live.get_etag()}.{store.read().revision}",
            changed_runs=find_changed_runs,
            select_runs=run_list.select_runs,
        ),
        live.server_problems.append,
    )
    dashboard_monitor = DashboardMonitor(registry, live.publish_revision)
    alert_service = AlertService(source, store, live, alerts)
    prewarmer = Prewarmer(source, overview, registry, run_table.prepare)
    refresher.listeners += [alert_service.on_refresh, prewarmer.on_refresh]
    stats = RequestStats()

    def list_routes() -> list[Route]:
        return [*own_routes, *registry.routes()]

    own_routes = [
        create_health_route(refresher),
        *LogApi(source, overview, live, registry, policy.read_only).routes(),
        *live.routes(),
        *BlobApi(source).routes(),
        *run_columns.routes(),
        *run_table.routes(),
        *run_list.routes(),
        *RunDetailsApi(source, overview, run_columns.hparams, run_table.get_table).routes(),
        *NotesApi(store, alert_service, derived.check).routes(),
        *StaticExportApi(source, overview, access).routes(),
        create_openapi_route(list_routes),
    ]

    def create_api_routes() -> list[BaseRoute]:
        return [
            *create_routes(own_routes),
            create_stream_route(live),
            *_create_dashboard_routes(registry, dashboard_monitor),
        ]

    routes: list[BaseRoute] = [
        Mount(f"/{API_PREFIX}", app=LazyRouter(create_api_routes)),
        create_metrics_route(live, overview, stats),
        Mount("/plugins", app=LazyRouter(lambda: create_plugin_routes(registry.entries.values()))),
        create_page_route(page_dir, window_title),
    ]
    prefix = f"/{path_prefix.strip('/')}" if path_prefix.strip("/") else ""
    api_path = f"{prefix}/{API_PREFIX}"
    middleware = [
        Middleware(MetricsMiddleware, stats=stats),
        Middleware(MemoryTrimMiddleware),
        Middleware(AccessMiddleware, policy=policy, public_path=f"{api_path}/health"),
        Middleware(ConcurrencyLimitMiddleware, stream_path=f"{api_path}/live"),
    ]
    if audit_log is not None:
        middleware.append(Middleware(AuditMiddleware, log=audit_log))

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        live.notifier.attach_loop()
        alert_service.start()
        dashboard_monitor.start()
        refresher.start()
        try:
            yield
        finally:
            prewarmer.stop()
            live.notifier.close()
            refresher.stop()
            alert_service.stop()
            dashboard_monitor.stop()
            registry.close()

    return BoardApp(
        [Mount(prefix, routes=routes)] if prefix else routes,
        middleware,
        lifespan,
        live=live,
        list_routes=list_routes,
    )


def _create_dashboard_routes(
    registry: DashboardRegistry, monitor: DashboardMonitor
) -> list[BaseRoute]:
    """Mount every dashboard below its name; its code is loaded on the first request."""
    return [
        Mount(
            f"/{entry.name}",
            app=LazyRouter(partial(_create_routes_of, entry, monitor), redirect_slashes=False),
        )
        for entry in registry.entries.values()
    ]


def _create_routes_of(entry: DashboardEntry, monitor: DashboardMonitor) -> list[BaseRoute]:
    return [*create_routes(monitor.list_routes(entry))]
