"""The route with which the page downloads a static export of its view."""

from __future__ import annotations

import msgspec

from tracklight.analysis.source import DataAccess
from tracklight.plugin import Blob, Route
from tracklight.server.source import LogOverview, LogSource


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
        from tracklight.server.static_export.contents import ExportContents, build_page
        from tracklight.server.static_export.view import parse_view

        contents = ExportContents(
            self._source,
            parse_view(request.view),
            self._overview.runs(),
            {tag.tag for tag in self._overview.tags()},
            self._access,
        )
        return Blob(build_page(contents).encode(), "text/html; charset=utf-8", "tracklight.html")
