"""The Profile dashboard: where the time and the memory of a program went."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracklight.dashboards.profile.asks import CaptureAsk, CaptureFileAsk
from tracklight.dashboards.profile.copies import iter_copies
from tracklight.dashboards.profile.file import make_file
from tracklight.dashboards.profile.hosts import HostsAnswer, tell_hosts
from tracklight.dashboards.profile.listing import CapturesAnswer
from tracklight.dashboards.profile.store import Opening, Store
from tracklight.dashboards.profile.tool import ToolsAnswer, tell_tools
from tracklight.dashboards.profile.tools import TOOLS
from tracklight.media.reader import has_mark
from tracklight.plugin import Context, Dashboard, Nothing, Route, Stream


class Profile(Dashboard):
    """Reads each capture once, and answers all that is asked of it from that."""

    name = "profile"
    title = "Profile"
    plugins = ("profile",)
    files = ("captures",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._store = Store(context)

    def routes(self) -> Sequence[Route]:
        return [
            Route("captures", Nothing, self.captures, "GET"),
            Route("opening", CaptureAsk, self.opening, "GET"),
            Route("tools", CaptureAsk, self.tools, "GET", immutable=has_mark),
            Route("hosts", CaptureAsk, self.hosts, "GET"),
            Route("file", CaptureFileAsk, self.file, "GET"),
            *(route for tool in TOOLS for route in tool.routes(self._store)),
        ]

    def export_static(self, runs: Sequence[str]) -> Iterator[tuple[str, object]]:
        return iter_copies(self.context, self._store, runs)

    def captures(self, ask: Nothing) -> CapturesAnswer:
        """All captures of the log, by run and time."""
        return self._store.listing.list_captures()

    def opening(self, ask: CaptureAsk) -> Opening:
        """How far the reading of a capture has come; this starts nothing."""
        return self._store.tell_opening(ask)

    def tools(self, ask: CaptureAsk) -> ToolsAnswer:
        """What a capture can be looked at with, and why it cannot be with the rest."""
        return self._store.find(ask, "tools", ToolsAnswer, lambda opened: tell_tools(TOOLS, opened))

    def hosts(self, ask: CaptureAsk) -> HostsAnswer:
        """How an average step went on every host of a capture."""
        return tell_hosts(self.context, self._store, ask)

    def file(self, ask: CaptureFileAsk) -> Stream:
        """A capture as its profiler wrote it, or in the form that Perfetto opens."""
        return make_file(self._store, ask)
