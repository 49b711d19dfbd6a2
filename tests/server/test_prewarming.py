"""`Dashboard.prepare` is called once for every active dashboard, in a thread of its own."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import cast

import pytest

from tests.server.memory_source import MemorySource
from tests.server.waiting import wait_until
from tracklight.analysis.source import Context
from tracklight.plugin import Dashboard
from tracklight.server.plugins import (
    DashboardEntry,
    DashboardRegistry,
    Prewarmer,
    create_static_context,
)
from tracklight.server.source import LogOverview


@pytest.fixture
def read(source: MemorySource) -> MemorySource:
    source.refresh()
    return source


class Counting(Dashboard):
    """Count how often it was prepared."""

    def __init__(self, context: Context, fails: bool = False) -> None:
        super().__init__(context)
        self.prepared = 0
        self.fails = fails

    def routes(self) -> list[object]:  # type: ignore[override]
        return []

    def prepare(self) -> None:
        self.prepared += 1
        if self.fails:
            raise ValueError("no such cache")


def make_registry(monkeypatch: pytest.MonkeyPatch, source: MemorySource) -> DashboardRegistry:
    monkeypatch.setattr("tracklight.server.plugins.BUILT_IN_DASHBOARDS", ())
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: ())
    return DashboardRegistry(create_static_context(source))


def add(
    registry: DashboardRegistry, name: str, plugin: str, dashboard: Dashboard, **options: bool
) -> None:
    registry.entries[name] = DashboardEntry(
        name, name, plugins=(plugin,), load=lambda: dashboard, **{"has_prepare": True, **options}
    )


def test_active_dashboards_are_prepared_once_even_if_one_fails(
    read: MemorySource, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    registry = make_registry(monkeypatch, read)
    context = create_static_context(read)
    failing, active, inactive = Counting(context, fails=True), Counting(context), Counting(context)
    add(registry, "failing", "scalars", failing)
    add(registry, "active", "scalars", active)
    add(registry, "inactive", "mesh", inactive)

    prewarmer = Prewarmer(read, LogOverview(read), registry)
    prewarmer.on_refresh(None)
    for _ in range(2):
        prewarmer.on_refresh(read.refresh())
    wait_until(lambda: active.prepared > 0)
    assert (failing.prepared, active.prepared, inactive.prepared) == (1, 1, 0)
    assert "preparing the dashboard failing failed: no such cache (ValueError)" in caplog.text


def test_a_slow_dashboard_does_not_delay_the_refresh(
    read: MemorySource, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = make_registry(monkeypatch, read)
    started, end = threading.Event(), threading.Event()

    def prepare() -> None:
        started.set()
        end.wait(60)

    slow = cast(Dashboard, SimpleNamespace(prepare=prepare, routes=lambda: ()))
    add(registry, "slow", "scalars", slow)
    Prewarmer(read, LogOverview(read), registry).on_refresh(read.refresh())
    assert started.wait(60)
    end.set()


@pytest.mark.parametrize("is_stopped", [False, True])
def test_errors_are_reported_until_the_log_is_closed(
    is_stopped: bool,
    read: MemorySource,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    registry = make_registry(monkeypatch, read)
    started, end = threading.Event(), threading.Event()

    def prepare() -> None:
        started.set()
        end.wait(60)
        raise RuntimeError("cannot schedule new futures after shutdown")

    prewarmer = Prewarmer(read, LogOverview(read), registry, prepare)
    prewarmer.on_refresh(read.refresh())
    assert started.wait(60)
    if is_stopped:
        prewarmer.stop()
    end.set()
    wait_until(lambda: all(t.name != "tracklight-prepare" for t in threading.enumerate()))
    assert ("listing the active dashboards failed" in caplog.text) is not is_stopped


def test_a_dashboard_without_prepare_is_not_loaded(
    read: MemorySource, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = make_registry(monkeypatch, read)

    def load() -> Dashboard:
        raise AssertionError("loaded")

    registry.entries["lazy"] = DashboardEntry("lazy", "Lazy", plugins=("scalars",), load=load)
    registry.prepare(registry.list_active(read, LogOverview(read).tags()))
