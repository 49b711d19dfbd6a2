"""Warm the caches of dashboards once the log has been read for the first time."""

from __future__ import annotations

import logging
import threading

from tracklight.server.overview import Overview
from tracklight.server.plugins import Plugins
from tracklight.server.source import Source
from tracklight.types import Delta

log = logging.getLogger(__name__)


class Warmth:
    """Call `Dashboard.prepare` of all active dashboards after the first refresh.

    This happens in a thread of its own, so that a slow plugin does not delay live updates.
    """

    def __init__(self, source: Source, overview: Overview, plugins: Plugins) -> None:
        self._source = source
        self._overview = overview
        self._plugins = plugins
        self._is_started = False

    def hear(self, delta: Delta | None) -> None:
        """Listener of the follower; None means that a refresh begins or has failed."""
        if delta is None or self._is_started:
            return
        self._is_started = True
        threading.Thread(target=self._prepare, name="tracklight-prepare", daemon=True).start()

    def _prepare(self) -> None:
        try:
            active = self._plugins.list_active(self._source, self._overview.tags())
        except Exception:  # the first request reports the error
            log.exception("listing the active dashboards failed")
            return
        self._plugins.prepare(active)
