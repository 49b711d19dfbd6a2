"""What dashboards see of a log that nobody serves: for exports and copies of boards."""

from __future__ import annotations

from tracklight.plugin_base import Context
from tracklight.server import problems
from tracklight.server.overview import Overview
from tracklight.server.source import Source


def make_context(source: Source, overview: Overview | None = None, cursor: str = "copy") -> Context:
    """Return the context of a log that does not change meanwhile; ``cursor`` is not empty."""
    overview = overview or Overview(source)
    return Context(
        source,
        overview.scalar_tags,
        overview.runs_with_scalar,
        lambda: cursor,
        problems.describe,
    )
