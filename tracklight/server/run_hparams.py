"""The hyperparameters of every run, wherever its writer put them.

A run holds them itself, or the nearest run above it does: Keras writes them into ``trial`` and the
curves into ``trial/train`` and ``trial/validation``. PyTorch's ``add_hparams`` goes the other way,
into a run of its own below the curves; so a run with none takes those of the only run right below
it that has some.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tracklight.server.kept import Kept
from tracklight.server.overview import Overview
from tracklight.server.source import Source

HParamValue = bool | int | float | str
HParams = Mapping[str, HParamValue]

#: The tag under which a run tells its hyperparameters.
_TAG = "_hparams_/session_start_info"


class RunHParams:
    """Reads each run's hyperparameters once."""

    def __init__(self, source: Source, overview: Overview) -> None:
        self._source = source
        self._overview = overview
        self._parsed: dict[bytes, HParams] = {}
        self._all = Kept(source, self._read)

    def read(self) -> Mapping[str, HParams]:
        """The hyperparameters of all runs that have some."""
        return self._all.get()

    def _read(self) -> Mapping[str, HParams]:
        contents = self._source.plugin_data(_TAG)
        known = self._parsed
        self._parsed = {
            data: known[data] if data in known else _parse(data) for data in contents.values()
        }
        own = {run: self._parsed[data] for run, data in contents.items() if self._parsed[data]}
        return hand_on(own, self._overview.runs()) if own else {}


def _parse(data: bytes) -> HParams:
    from tracklight.formats.hparams import parse_session_start  # most logs hold none

    return parse_session_start(data)


def hand_on(own: Mapping[str, HParams], runs: Iterable[str]) -> dict[str, HParams]:
    """What each run was given: its own hyperparameters, or those of a run above or below it."""
    below = _find_only_children(own)
    given = {}
    for run in runs:
        place = next((name for name in _iter_upwards(run) if name in own), below.get(run))
        if place is not None:
            given[run] = own[place]
    return given


def _iter_upwards(run: str) -> Iterator[str]:
    """A run and those above it; a log directory that is itself a run is called ``.``."""
    yield run
    while run:
        run = run.rpartition("/")[0]
        yield from (run, f"{run}/.") if run else (".",)


def _find_only_children(own: Iterable[str]) -> dict[str, str]:
    children: dict[str, list[str]] = {}
    for name in own:
        children.setdefault(name.rpartition("/")[0] or ".", []).append(name)
    return {above: names[0] for above, names in children.items() if len(names) == 1}
