"""The hyperparameters of every run, wherever its writer put them."""

from __future__ import annotations

from collections.abc import Mapping

from tracklight.formats.hparam_names import SESSION_START_TAG, HParamValue
from tracklight.server.kept import Kept
from tracklight.server.overview import Overview
from tracklight.server.source import Source

HParams = Mapping[str, HParamValue]


class RunHParams:
    """Hands the hyperparameters of sessions on to their runs."""

    def __init__(self, source: Source, overview: Overview) -> None:
        self._source = source
        self._overview = overview
        self._all = Kept(source, self._read)

    def read(self) -> Mapping[str, HParams]:
        """The hyperparameters of all runs that have some."""
        return self._all.get()

    def _read(self) -> Mapping[str, HParams]:
        if not (self._source.settings() or self._source.plugin_data(SESSION_START_TAG)):
            return {}
        from tracklight.sessions.places import hand_on  # most logs hold none
        from tracklight.sessions.reader import get_reader

        sessions = get_reader(self._source).read().sessions
        own = {session.name: session.hparams for session in sessions if session.hparams}
        return hand_on(own, self._overview.runs()) if own else {}
