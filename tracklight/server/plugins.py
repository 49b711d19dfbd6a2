"""Find and load dashboards, built-in and third-party ones alike.

A third-party dashboard that cannot be loaded is reported and left out; it never stops the server.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial, wraps
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

import msgspec
from starlette.routing import compile_path

from tracklight.analysis.source import NO_ACCESS, Context, DataAccess, FileKind, Source
from tracklight.dashboards import BUILT_IN_DASHBOARDS
from tracklight.errors import Message
from tracklight.plugin import Dashboard, Route
from tracklight.server.events import DashboardEvent
from tracklight.server.responses import describe_error
from tracklight.server.source import LogOverview, LogSource
from tracklight.types import Delta, SharedTag

log = logging.getLogger(__name__)

ENTRY_POINT_GROUP = "tracklight.dashboards"

#: How often to check for changes by other servers.
_MONITOR_INTERVAL_S = 2.0
_MONITOR_STOP_TIMEOUT_S = 5.0
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
#: The server's own routes have these names.
_RESERVED_NAMES = frozenset(
    {"alerts", "blobs", "dashboards", "files", "health", "live", "notes", "runs", "status", "tags"}
)


class DashboardRegistry:
    """All dashboards by name.

    The first use of `entries` finds third-party dashboards and loads them, to find out whether they
    work. This reads a file of every installed package, so a server does it after its first
    response. Built-in dashboards are loaded one by one when they are first used.

    Args:
        context: What dashboards see of the log.
        on_problem: Called with a message about each dashboard that cannot be loaded.
    """

    def __init__(
        self, context: Context, on_problem: Callable[[Message], None] = lambda problem: None
    ) -> None:
        self._context = context
        self._access = context.access
        self._on_problem = on_problem
        self._lock = threading.Lock()
        self._entries: dict[str, DashboardEntry] | None = None

    @property
    def entries(self) -> dict[str, DashboardEntry]:
        """The dashboards in the order of their tabs."""
        with self._lock:
            if self._entries is None:
                self._entries = self._load_entries()
            return self._entries

    def _load_entries(self) -> dict[str, DashboardEntry]:
        from importlib.metadata import entry_points

        context = self._context
        entries: dict[str, DashboardEntry] = {}
        for built_in in BUILT_IN_DASHBOARDS:
            entries[built_in.name] = DashboardEntry(
                built_in.name,
                built_in.title,
                plugins=built_in.plugins,
                files=built_in.files,
                has_prepare=built_in.has_prepare,
                needs_data_access=built_in.needs_data_access,
                load=partial(_load_built_in, built_in.import_path, context),
            )
        for entry_point in entry_points(group=ENTRY_POINT_GROUP):
            name = entry_point.name
            try:
                entry = self._load_third_party(entry_point.load(), entries.keys())
                entries[entry.name] = entry
            # A plugin may raise anything, or call sys.exit().
            except (Exception, SystemExit) as error:
                log.debug("loading the dashboard %s failed", name, exc_info=error)
                self._on_problem(
                    Message.format(
                        "plugins.cannot_load",
                        'the dashboard "{name}" cannot be loaded: {error}',
                        name=name,
                        error=_describe_failure(error),
                    )
                )
        return entries

    def list_active(self, source: Source, tags: Iterable[SharedTag]) -> list[DashboardEntry]:
        """Return the dashboards that have something to show."""
        logged_plugins = {tag.plugin for tag in tags}
        has_files: dict[FileKind, bool] = {
            "settings": bool(source.settings()),
            "captures": bool(source.captures()),
            "tensor_files": bool(source.tensor_files()),
            "debug_files": bool(source.debug_files()),
            "evaluation_files": bool(source.evaluation_files()),
            "study_files": bool(source.study_files()),
        }
        has_access = bool(self._access.data_dirs or self._access.workspaces)
        return [
            entry
            for entry in self.entries.values()
            if (has_access if entry.needs_data_access else not (entry.plugins or entry.files))
            or not logged_plugins.isdisjoint(entry.plugins)
            or any(has_files[kind] for kind in entry.files)
        ]

    def prepare(self, active: Iterable[DashboardEntry]) -> None:
        """Let dashboards warm their caches; the failure of one does not affect the others."""
        for entry in active:
            if not entry.has_prepare:
                continue
            try:
                entry.get_dashboard().prepare()
            except (Exception, SystemExit) as error:
                reason = _describe_failure(error)
                log.warning("preparing the dashboard %s failed: %s", entry.name, reason)
                log.debug("preparing %s failed", entry.name, exc_info=error)

    def routes(self) -> list[Route]:
        """Return the routes of all dashboards, each below the name of its dashboard."""
        return [
            replace(route, path=f"{name}/{route.path}")
            for name, entry in self.entries.items()
            for route in entry.get_routes()
        ]

    def close(self) -> None:
        """Close all loaded dashboards, even if closing one of them fails."""
        for entry in (self._entries or {}).values():
            try:
                entry.close()
            except Exception as error:
                reason = _describe_failure(error)
                log.warning("closing the dashboard %s failed: %s", entry.name, reason)

    def _load_third_party(self, kind: Any, taken: Container[str]) -> DashboardEntry:
        """Validate and load a third-party dashboard."""
        if not (isinstance(kind, type) and issubclass(kind, Dashboard)):
            raise TypeError("it is not a subclass of tracklight.plugin.Dashboard")
        if not _NAME.fullmatch(kind.name) or kind.name in _RESERVED_NAMES or kind.name in taken:
            raise ValueError(f'the name "{kind.name}" is taken or not valid in a URL')
        if kind.web_dir is not None and not (kind.web_dir / "index.js").is_file():
            raise ValueError(f"the file {kind.web_dir / 'index.js'} does not exist")
        unknown = set(kind.files) - set(get_args(FileKind))
        if unknown:
            raise ValueError(f"its files are of unknown kinds: {', '.join(sorted(unknown))}")
        dashboard = kind(self._context)
        entry = DashboardEntry(
            kind.name,
            kind.title,
            plugins=kind.plugins,
            files=kind.files,
            web_dir=kind.web_dir,
            has_prepare=kind.prepare is not Dashboard.prepare,
            needs_data_access=kind.needs_data_access,
            load=lambda: dashboard,
        )
        for route in entry.get_routes():
            _validate_route(route)
        return entry


class DashboardEntry:
    """A dashboard whose code is loaded once, when it is first used."""

    def __init__(
        self,
        name: str,
        title: str,
        *,
        plugins: Sequence[str],
        load: Callable[[], Dashboard],
        files: Sequence[FileKind] = (),
        web_dir: Path | None = None,
        has_prepare: bool = False,
        needs_data_access: bool = False,
    ) -> None:
        self.name = name
        self.title = title
        self.plugins = plugins
        self.files = files
        self.web_dir = web_dir
        self.has_prepare = has_prepare
        self.needs_data_access = needs_data_access
        self._load = load
        self._lock = threading.Lock()
        self._loaded: tuple[Dashboard, tuple[Route, ...]] | None = None

    def get_dashboard(self) -> Dashboard:
        return self._get()[0]

    def find_loaded(self) -> Dashboard | None:
        """Return the dashboard if it has been used."""
        return self._loaded[0] if self._loaded is not None else None

    def get_routes(self) -> tuple[Route, ...]:
        return self._get()[1]

    def close(self) -> None:
        if self._loaded is not None:
            self._loaded[0].close()

    def _get(self) -> tuple[Dashboard, tuple[Route, ...]]:
        with self._lock:
            if self._loaded is None:
                dashboard = self._load()
                self._loaded = dashboard, tuple(dashboard.routes())
            return self._loaded


def _load_built_in(import_path: str, context: Context) -> Dashboard:
    module, _, name = import_path.partition(":")
    kind: type[Dashboard] = getattr(import_module(module), name)
    return kind(context)


def _validate_route(route: Any) -> None:
    """Raise the errors that the first request would cause otherwise."""
    if not isinstance(route, Route):
        raise TypeError(f"{route!r} is not a tracklight.plugin.Route")
    compile_path(f"/{route.path}")
    msgspec.json.Decoder(route.request_type)


def _describe_failure(error: BaseException) -> str:
    return f"{error or 'no reason given'} ({type(error).__name__})"


class Prewarmer:
    """Call `Dashboard.prepare` of all active dashboards, and more, after the first refresh.

    This happens in a thread of its own, so that a slow plugin does not delay live updates.
    """

    def __init__(
        self,
        source: LogSource,
        overview: LogOverview,
        registry: DashboardRegistry,
        prepare: Callable[[], None] = lambda: None,
    ) -> None:
        self._source = source
        self._overview = overview
        self._registry = registry
        self._prepare_server = prepare
        self._is_started = False
        self._is_stopped = False

    def on_refresh(self, delta: Delta | None) -> None:
        """Listen to the refresher; None means that a refresh begins or has failed."""
        if delta is None or self._is_started:
            return
        self._is_started = True
        threading.Thread(target=self._prepare, name="tracklight-prepare", daemon=True).start()

    def stop(self) -> None:
        """Report no more errors: the log is being closed. Does not wait for the thread."""
        self._is_stopped = True

    def _prepare(self) -> None:
        try:
            active = self._registry.list_active(self._source, self._overview.tags())
            self._prepare_server()
        except Exception:  # the first request reports the error
            if not self._is_stopped:
                log.exception("listing the active dashboards failed")
            return
        self._registry.prepare(active)


class DashboardMonitor:
    """Announce changes of what users store through dashboards, here or with another server.

    Args:
        registry: Dashboards that no request has used yet are not followed.
        publish: Called with an event for each change.
    """

    def __init__(
        self, registry: DashboardRegistry, publish: Callable[[DashboardEvent], None]
    ) -> None:
        self._registry = registry
        self._publish = publish
        self._revisions: dict[str, str] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tracklight-stored", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(_MONITOR_STOP_TIMEOUT_S)

    def list_routes(self, entry: DashboardEntry) -> list[Route]:
        """Return the routes of a dashboard; those that change stored data announce it."""
        routes = [self._follow(entry, route) for route in entry.get_routes()]
        self._check(entry)
        return routes

    def _follow(self, entry: DashboardEntry, route: Route) -> Route:
        if not route.mutates:
            return route

        @wraps(route.handler)
        def handle(request: object) -> object:
            response = route.handler(request)
            self._check(entry)
            return response

        return replace(route, handler=handle)

    def _run(self) -> None:
        while not self._stop.wait(_MONITOR_INTERVAL_S):
            for entry in self._registry.entries.values():
                self._check(entry)

    def _check(self, entry: DashboardEntry) -> None:
        dashboard = entry.find_loaded()
        if dashboard is None:
            return
        try:
            with self._lock:
                revision = dashboard.get_revision()
                known = self._revisions.setdefault(entry.name, revision)
                self._revisions[entry.name] = revision
        # A plugin may raise anything; the request itself has succeeded.
        except Exception as error:
            log.warning("get_revision of %s failed: %s", entry.name, _describe_failure(error))
            return
        if revision != known:
            self._publish(DashboardEvent(entry.name, revision))


def create_static_context(
    source: LogSource,
    overview: LogOverview | None = None,
    cursor: str = "static",
    access: DataAccess = NO_ACCESS,
    view: Mapping[str, str] | None = None,
) -> Context:
    """Create the context of dashboards for a log that is not served, such as for an export."""
    overview = overview or LogOverview(source)
    return Context(
        source,
        overview.scalar_tags,
        overview.runs_with_scalar,
        lambda: cursor,
        describe_error,
        access,
        view or {},
    )
