"""Finds the dashboards, tracklight's own and others', and keeps a broken one from harming."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import msgspec
from starlette.routing import compile_path

from tracklight.dashboards import BUILT_IN
from tracklight.plugin import Context, Dashboard, Route

GROUP = "tracklight.dashboards"

log = logging.getLogger(__name__)

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
#: What the server itself answers to below ``api/`` and beside it.
_TAKEN = frozenset(
    {"alerts", "blobs", "dashboards", "files", "health", "live", "notes", "runs", "status"}
)


class Plugins:
    """All dashboards there are, and a sentence on each that cannot be used.

    Others' are loaded at once, to know whether they can be; tracklight's own when they are needed.
    """

    def __init__(self, context: Context) -> None:
        self.found: dict[str, Found] = {}
        self.problems: list[str] = []
        for it in BUILT_IN:
            load = partial(_load_built_in, it.place, context)
            self.found[it.name] = Found(it.name, it.title, it.plugins, None, load, it.prepares_from)
        for entry_point in entry_points(group=GROUP):
            try:
                self._add(entry_point.load(), context)
            # A plugin may raise anything, or try to exit; the server has to start nevertheless.
            except (Exception, SystemExit) as error:
                log.debug("the dashboard %s failed", entry_point.name, exc_info=error)
                problem = f'the dashboard "{entry_point.name}" cannot be used: {_say(error)}'
                self.problems.append(problem)

    def routes(self) -> list[Route]:
        """Those of all dashboards, each below its name."""
        return [
            replace(route, path=f"{name}/{route.path}")
            for name, found in self.found.items()
            for route in found.get_routes()
        ]

    def close(self) -> None:
        """End what dashboards have under way; one that cannot does not keep others from it."""
        for found in self.found.values():
            try:
                found.close()
            except Exception as error:
                log.warning("the dashboard %s did not end well: %s", found.name, _say(error))

    def _add(self, kind: Any, context: Context) -> None:
        if not (isinstance(kind, type) and issubclass(kind, Dashboard)):
            raise TypeError("it is not a subclass of tracklight.plugin.Dashboard")
        if not _NAME.fullmatch(kind.name) or kind.name in _TAKEN | self.found.keys():
            raise ValueError(f'the name "{kind.name}" is taken or not fit for an address')
        if kind.module is not None and not (kind.module / "index.js").is_file():
            raise ValueError(f"its web half has no {kind.module / 'index.js'}")
        dashboard = kind(context)
        found = Found(kind.name, kind.title, kind.plugins, kind.module, lambda: dashboard)
        for route in found.get_routes():
            _check(route)
        self.found[kind.name] = found


class Found:
    """A dashboard with a tab. What is behind it is loaded once, when it is first asked for."""

    def __init__(
        self,
        name: str,
        title: str,
        plugins: Sequence[str],
        module: Path | None,
        load: Callable[[], Dashboard],
        prepares_from: int | None = None,
    ) -> None:
        self.name = name
        self.title = title
        self.plugins = plugins
        self.module = module
        self.prepares_from = prepares_from
        self._load = load
        self._lock = threading.Lock()
        self._loaded: tuple[Dashboard, tuple[Route, ...]] | None = None

    def get_dashboard(self) -> Dashboard:
        return self._get()[0]

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


def _load_built_in(place: str, context: Context) -> Dashboard:
    module, _, name = place.partition(":")
    kind: type[Dashboard] = getattr(import_module(module), name)
    return kind(context)


def _check(route: Any) -> None:
    """Raise now what would otherwise fail when the route is first asked."""
    if not isinstance(route, Route):
        raise TypeError(f"{route!r} is not a tracklight.plugin.Route")
    compile_path(f"/{route.path}")
    msgspec.json.Decoder(route.ask)


def _say(error: BaseException) -> str:
    return f"{error or 'no reason given'} ({type(error).__name__})"
