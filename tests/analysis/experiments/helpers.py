"""Open the HParams dashboard of a log on disk without a server."""

from __future__ import annotations

from pathlib import Path

from tests.index import logs
from tracklight.dashboards.hparams import HParams
from tracklight.index.catalog import Catalog
from tracklight.plugin import Context
from tracklight.server import responses
from tracklight.server.source import LogOverview


def open_board(logdir: Path) -> tuple[Catalog, HParams]:
    """Return the dashboard, and the catalog to refresh when files change."""
    catalog = logs.open_catalog(logdir)
    catalog.refresh()
    overview = LogOverview(catalog)
    context = Context(
        catalog,
        overview.scalar_tags,
        overview.runs_with_scalar,
        lambda: str(catalog.version),
        responses.describe_error,
    )
    return catalog, HParams(context)
