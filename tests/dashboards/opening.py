"""A log as dashboards see it, without a server around them."""

from __future__ import annotations

from tracklight.index.catalog import Catalog
from tracklight.plugin import Context
from tracklight.server import problems
from tracklight.server.overview import Overview


def make_context(catalog: Catalog) -> Context:
    overview = Overview(catalog)
    return Context(
        catalog,
        overview.scalar_tags,
        overview.runs_with_scalar,
        lambda: "cursor",
        problems.describe,
    )
