"""Puts together what takes long of a large log when it has been read, not when it is first seen."""

from __future__ import annotations

import logging

from tracklight.server.overview import Overview
from tracklight.server.plugins import Plugins
from tracklight.types import Delta

log = logging.getLogger(__name__)


class Warmth:
    """Listens for the end of the first refresh."""

    def __init__(self, overview: Overview, plugins: Plugins) -> None:
        self._overview = overview
        self._plugins = plugins
        self._is_done = False

    def hear(self, delta: Delta | None) -> None:
        """Called in the follower's thread, which has nothing else to do just then."""
        if delta is None or self._is_done:
            return
        self._is_done = True
        try:
            self._prepare()
        except Exception:  # whoever asks will be told; following has to go on
            log.exception("preparing answers failed")

    def _prepare(self) -> None:
        logged = {tag.plugin for tag in self._overview.tags()}
        runs = len(self._overview.runs())
        for found in self._plugins.found.values():
            least = found.prepares_from
            if least is not None and least <= runs and not logged.isdisjoint(found.plugins):
                found.get_dashboard().prepare()
