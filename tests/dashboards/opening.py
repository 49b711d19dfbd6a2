"""A log as dashboards see it, without a server around them."""

from __future__ import annotations

from tracklight.index.catalog import Catalog
from tracklight.plugin import Context
from tracklight.server import responses
from tracklight.server.source import LogOverview


def make_context(catalog: Catalog) -> Context:
    overview = LogOverview(catalog)
    return Context(
        catalog,
        overview.scalar_tags,
        overview.runs_with_scalar,
        lambda: "cursor",
        responses.describe_error,
    )
