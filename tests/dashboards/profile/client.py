"""Request the routes of the dashboard as the page does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from tests.dashboards.opening import make_context
from tests.index import logs
from tracklight.analysis.jobs import LOCAL_TASKS, Tasks
from tracklight.dashboards.profile import Profile
from tracklight.dashboards.profile.schemas import CaptureRow
from tracklight.plugin import Empty

SESSION = "2026_11_15_00_37_55"


def put_xplane(
    logdir: Path, run: str, data: bytes, host: str = "vm", session: str = SESSION
) -> Path:
    folder = logdir / run / "plugins" / "profile" / session
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{host}.xplane.pb"
    path.write_bytes(data)
    return path


class ProfileClient:
    """The dashboard on a log directory."""

    def __init__(
        self, logdir: Path, cache: bool | Path = False, tasks: Tasks = LOCAL_TASKS
    ) -> None:
        self.catalog = logs.open_catalog(logdir, cache)
        context = make_context(self.catalog)
        self.profile = Profile(replace(context, access=replace(context.access, tasks=tasks)))
        self._routes = {route.path: route for route in self.profile.routes()}

    def rows(self) -> list[CaptureRow]:
        return self.profile.captures(Empty()).captures

    def row(self, run: str) -> CaptureRow:
        return next(row for row in self.rows() if row.run == run)

    def get(self, path: str, run: str, before: str = "", **params: object) -> Any:
        """Return the response of a route for the capture of a run."""
        request = {"capture": self.row(run).id, **params}
        if before:
            request["baseline"] = self.row(before).id
        return self.request(path, **request)

    def request(self, path: str, **params: object) -> Any:
        """Return the response of a route."""
        route = self._routes[path]
        return route.handler(msgspec.convert(params, route.request_type, strict=False))

    def close(self) -> None:
        self.catalog.close()


@contextmanager
def open_client(logdir: Path, tasks: Tasks = LOCAL_TASKS) -> Iterator[ProfileClient]:
    client = ProfileClient(logdir, tasks=tasks)
    try:
        yield client
    finally:
        client.close()


def put_file(logdir: Path, run: str, source: Path, name: str = "") -> None:
    """Copy a capture into the folder of a run."""
    (logdir / run).mkdir(exist_ok=True)
    (logdir / run / (name or source.name)).write_bytes(source.read_bytes())
