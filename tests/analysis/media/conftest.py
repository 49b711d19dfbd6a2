"""The context of a dashboard for a real log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.index import logs
from tracklight.plugin import Context
from tracklight.server import responses
from tracklight.server.source import LogOverview

Open = Callable[[Path], Context]


@pytest.fixture
def open_log() -> Iterator[Open]:
    catalogs = []

    def open_(path: Path) -> Context:
        catalog = logs.open_catalog(path)
        catalog.refresh()
        catalogs.append(catalog)
        overview = LogOverview(catalog)
        return Context(
            catalog,
            overview.scalar_tags,
            overview.runs_with_scalar,
            lambda: str(catalog.version),
            responses.describe_error,
        )

    yield open_
    for catalog in catalogs:
        catalog.close()
