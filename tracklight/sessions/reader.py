"""Finds the sessions of a log: in records, and where there are none in files of settings."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from tracklight.errors import FormatError
from tracklight.formats import hparams as formats
from tracklight.formats.hparam_names import (
    EXPERIMENT_TAG,
    SESSION_END_TAG,
    SESSION_START_TAG,
    HParamValue,
)
from tracklight.formats.hparams import Experiment, SessionEnd, SessionStart
from tracklight.logdir.discover import iter_upwards
from tracklight.logdir.natural import natural_key
from tracklight.plugin_base import Source
from tracklight.sessions.places import find_settled, hand_on
from tracklight.sessions.session import Origin, Session
from tracklight.sessions.settings import parse_settings, rank_name
from tracklight.types import SettingsFile

T = TypeVar("T")
HParams = Mapping[str, HParamValue]
_NO_END = SessionEnd()


@dataclass(frozen=True, slots=True)
class Found:
    """All sessions in natural order, what experiments say of them, and what could not be read."""

    sessions: tuple[Session, ...]
    experiments: tuple[Experiment, ...]
    problems: tuple[str, ...]


class SessionReader:
    """Reads every record and file once, as long as it stays what it is."""

    def __init__(self, log: Source) -> None:
        self._log = log
        self._lock = threading.Lock()
        self._starts = _Parsed(formats.parse_start)
        self._ends = _Parsed(formats.parse_end)
        self._experiments = _Parsed(formats.parse_experiment)
        self._files: dict[SettingsFile, HParams | str] = {}
        self._known: tuple[_Contents, Found] | None = None

    def read(self) -> Found:
        """What there is now; the same object as before where nothing of it changed."""
        contents = _take_contents(self._log)
        with self._lock:
            if self._known is None or self._known[0] != contents:
                self._known = contents, self._make(contents)
            return self._known[1]

    def _make(self, contents: _Contents) -> Found:
        starts = self._starts.read(contents.starts)
        ends = self._ends.read(contents.ends)
        experiments = self._experiments.read(contents.experiments)
        settings, problems = self._read_settings(contents, starts)
        above = {run: _find_above(run, experiments) for run in (*starts, *settings)}
        sessions = [
            _from_record(run, start, ends.get(run), above[run]) for run, start in starts.items()
        ]
        sessions += [
            _from_settings(run, values, ends.get(run), above[run])
            for run, values in settings.items()
        ]
        sessions.sort(key=lambda session: natural_key(session.name))
        unlike = tuple(dict.fromkeys(experiments[run] for run in sorted(experiments)))
        return Found(tuple(sessions), unlike, problems)

    def _read_settings(
        self, contents: _Contents, starts: Mapping[str, SessionStart]
    ) -> tuple[dict[str, HParams], tuple[str, ...]]:
        """Those of directories whose runs have no record, and what is wrong with others."""
        files: dict[str, list[SettingsFile]] = {}
        for file in contents.settings:
            files.setdefault(file.run, []).append(file)
        runs = contents.runs
        lacking = set(runs).difference(hand_on({run: {} for run in starts}, runs))
        wanted = find_settled(files, runs, lacking)
        return self._choose({place: files[place] for place in wanted})

    def _choose(
        self, files: Mapping[str, Iterable[SettingsFile]]
    ) -> tuple[dict[str, HParams], tuple[str, ...]]:
        chosen: dict[str, HParams] = {}
        problems = []
        known, self._files = self._files, {}
        for place, own in files.items():
            for file in sorted(own, key=lambda one: rank_name(os.path.basename(one.path))):
                values = known[file] if file in known else self._read_file(file)
                self._files[file] = values
                if isinstance(values, str):
                    problems.append(values)
                elif values:
                    chosen.setdefault(place, values)
        return chosen, tuple(problems)

    def _read_file(self, file: SettingsFile) -> HParams | str:
        name = os.path.basename(file.path)
        try:
            return parse_settings(name, self._log.read_settings(file))
        except (FormatError, OSError) as error:
            return f'The settings in "{file.run}/{name}" cannot be read: {error}.'


@dataclass(frozen=True, slots=True)
class _Contents:
    """All that sessions are made from, as it stands in the log."""

    starts: Mapping[str, bytes]
    ends: Mapping[str, bytes]
    experiments: Mapping[str, bytes]
    settings: tuple[SettingsFile, ...]
    runs: tuple[str, ...]
    """Told only where there are settings, which may be of any of them."""


def _take_contents(log: Source) -> _Contents:
    settings = tuple(log.settings())
    return _Contents(
        log.plugin_data(SESSION_START_TAG),
        log.plugin_data(SESSION_END_TAG),
        log.plugin_data(EXPERIMENT_TAG),
        settings,
        tuple(info.name for info in log.runs()) if settings else (),
    )


class _Parsed(Generic[T]):
    """What was made of the metadata of a tag; most runs never change theirs."""

    def __init__(self, parse: Callable[[bytes], T | None]) -> None:
        self._parse = parse
        self._known: dict[bytes, T | None] = {}

    def read(self, contents: Mapping[str, bytes]) -> dict[str, T]:
        known, parse = self._known, self._parse
        self._known = {
            data: known[data] if data in known else parse(data)
            for data in dict.fromkeys(contents.values())
        }
        found = ((run, self._known[data]) for run, data in contents.items())
        return {run: one for run, one in found if one is not None}


_readers: WeakKeyDictionary[Source, SessionReader] = WeakKeyDictionary()
_readers_lock = threading.Lock()


def get_reader(log: Source) -> SessionReader:
    """The reader that all who look at a log share, so that records are read once."""
    with _readers_lock:
        return _readers.setdefault(log, SessionReader(log))


def _find_above(name: str, experiments: Container[str]) -> str:
    """PyTorch puts one into every session, which says nothing of what belongs together."""
    above = islice(iter_upwards(name), 1, None)
    return next((run for run in above if run in experiments), "")


def _from_record(run: str, start: SessionStart, end: SessionEnd | None, experiment: str) -> Session:
    ended = end or _NO_END
    return Session(
        run,
        start.hparams,
        start.group_name or run,
        Origin.RECORD,
        ended.status,
        start.wall_time or None,
        ended.wall_time or None,
        start.model_uri,
        start.monitor_url,
        experiment,
    )


def _from_settings(run: str, values: HParams, end: SessionEnd | None, experiment: str) -> Session:
    status, ended = (end or _NO_END).status, (end or _NO_END).wall_time
    return Session(
        run, values, run, Origin.SETTINGS, status, end_wall=ended or None, experiment=experiment
    )
