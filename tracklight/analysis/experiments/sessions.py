"""What is known of one session."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from itertools import islice
from typing import Generic, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from tracklight.analysis.experiments.settings_files import parse_settings, rank_filename
from tracklight.analysis.source import Source
from tracklight.errors import FormatError
from tracklight.formats import hparams as formats
from tracklight.formats.hparams import (
    EXPERIMENT_TAG,
    SESSION_END_TAG,
    SESSION_START_TAG,
    Experiment,
    HParamValue,
    SessionEnd,
    SessionStart,
    Status,
)
from tracklight.logdir.discover import iter_ancestors
from tracklight.logdir.names import natural_key
from tracklight.types import SettingsFile


class HParamSource(IntEnum):
    """Where the hyperparameters of a session stand."""

    RECORD = 0
    SETTINGS = 1


@dataclass(frozen=True, slots=True)
class Session:
    """One training: a run, or a directory with runs in it, and what it was given."""

    name: str
    hparams: Mapping[str, HParamValue]
    group: str
    """Sessions of one group are repeats of the same trial."""
    source: HParamSource = HParamSource.RECORD
    status: Status = Status.UNKNOWN
    start_time: float | None = None
    end_time: float | None = None
    model_uri: str = ""
    monitor_url: str = ""
    experiment: str = ""
    """The run above that says what is varied; empty where none does."""


# Which session each run belongs to.
#
# A session's runs are those below it: Keras writes hyperparameters into ``trial`` and curves into
# ``trial/train`` and ``trial/validation``. PyTorch's ``add_hparams`` goes the other way, into a run
# of its own below the curves; so a run with none takes those of the only run right below it that
# has some.

T = TypeVar("T")

#: The group of metrics in the run right above a session.
PARENT_GROUP = ".."


class SessionRun(NamedTuple):
    """A run as part of a session: ``group`` is its path from there, empty for the session's own."""

    session: str
    group: str


def inherit_hparams(own: Mapping[str, T], runs: Iterable[str]) -> dict[str, T]:
    """What each run was given: its own hyperparameters, or those of a run above or below it."""
    return {run: own[place.session] for run, place in assign_runs(own, runs).items()}


def assign_runs(sessions: Iterable[str], runs: Iterable[str]) -> dict[str, SessionRun]:
    """The session of each run that has one."""
    known = frozenset(sessions)
    below = _map_only_children(known)
    found = {}
    for run in runs:
        above = next((name for name in iter_ancestors(run) if name in known), None)
        if above is not None:
            found[run] = SessionRun(above, _get_relative(run, above))
        elif run in below:
            found[run] = SessionRun(below[run], PARENT_GROUP)
    return found


def get_session_run(session: str, group: str) -> str:
    """The run that holds the metrics of a group of a session."""
    if not group:
        return session
    if group == PARENT_GROUP:
        return session.rpartition("/")[0] or "."
    folder = session.removesuffix(".").removesuffix("/")
    return f"{folder}/{group}" if folder else group


def list_settings_sessions(
    directories: Iterable[str], runs: Iterable[str], runs_without_hparams: Container[str]
) -> list[str]:
    """Of the directories with settings those that are sessions.

    A directory in which a run lies is one, and so is one with runs below, such as ``train`` and
    ``test``, unless they have settings of their own; the log directory itself holds many.
    """
    known = frozenset(directories)
    found: dict[str, None] = {}
    taken: set[str] = set()
    for run in runs:
        above = [name for name in iter_ancestors(run) if name in known]
        if above and run in runs_without_hparams:
            found[above[0]] = None
            taken.update(above[1:])
    there = frozenset(runs)
    return [name for name in found if name in there or not (name in taken or _is_root(name))]


def _get_relative(run: str, session: str) -> str:
    if run == session:
        return ""
    folder = session.removesuffix(".").removesuffix("/")
    return run.removeprefix(f"{folder}/") if folder else run


def _is_root(name: str) -> bool:
    return name == "." or name.endswith("/.")


def _map_only_children(names: Iterable[str]) -> dict[str, str]:
    children: dict[str, list[str]] = {}
    for name in names:
        children.setdefault(name.rpartition("/")[0] or ".", []).append(name)
    return {above: own[0] for above, own in children.items() if len(own) == 1}


# Finds the sessions of a log: in records, and where there are none in files of settings.

HParams = Mapping[str, HParamValue]

_NO_END = SessionEnd()


@dataclass(frozen=True, slots=True)
class SessionList:
    """All sessions in natural order, what experiments say of them, and what could not be read."""

    sessions: tuple[Session, ...]
    experiments: tuple[Experiment, ...]
    problems: tuple[str, ...]


class SessionReader:
    """Reads every record and file once, as long as it stays what it is."""

    def __init__(self, log: Source) -> None:
        self._log = log
        self._lock = threading.Lock()
        self._starts = _ParseCache(formats.parse_session_start_info)
        self._ends = _ParseCache(formats.parse_session_end_info)
        self._experiments = _ParseCache(formats.parse_experiment)
        self._files: dict[SettingsFile, HParams | str] = {}
        self._cached: tuple[_LogContents, SessionList] | None = None

    def read(self) -> SessionList:
        """What there is now; the same object as before where nothing of it changed."""
        contents = _read_log_contents(self._log)
        with self._lock:
            if self._cached is None or self._cached[0] != contents:
                self._cached = contents, self._build_list(contents)
            return self._cached[1]

    def _build_list(self, contents: _LogContents) -> SessionList:
        starts = self._starts.read(contents.starts)
        ends = self._ends.read(contents.ends)
        experiments = self._experiments.read(contents.experiments)
        settings, problems = self._read_settings(contents, starts)
        above = {run: _get_parent_experiment(run, experiments) for run in (*starts, *settings)}
        sessions = [
            _make_recorded_session(run, start, ends.get(run), above[run])
            for run, start in starts.items()
        ]
        sessions += [
            _make_settings_session(run, values, ends.get(run), above[run])
            for run, values in settings.items()
        ]
        sessions.sort(key=lambda session: natural_key(session.name))
        unlike = tuple(dict.fromkeys(experiments[run] for run in sorted(experiments)))
        return SessionList(tuple(sessions), unlike, problems)

    def _read_settings(
        self, contents: _LogContents, starts: Mapping[str, SessionStart]
    ) -> tuple[dict[str, HParams], tuple[str, ...]]:
        """Those of directories whose runs have no record, and what is wrong with others."""
        files: dict[str, list[SettingsFile]] = {}
        for file in contents.settings:
            files.setdefault(file.run, []).append(file)
        runs = contents.runs
        lacking = set(runs).difference(inherit_hparams({run: {} for run in starts}, runs))
        wanted = list_settings_sessions(files, runs, lacking)
        return self._parse_files({place: files[place] for place in wanted})

    def _parse_files(
        self, files: Mapping[str, Iterable[SettingsFile]]
    ) -> tuple[dict[str, HParams], tuple[str, ...]]:
        chosen: dict[str, HParams] = {}
        problems = []
        known, self._files = self._files, {}
        for place, own in files.items():
            for file in sorted(own, key=lambda one: rank_filename(os.path.basename(one.path))):
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
class _LogContents:
    """All that sessions are made from, as it stands in the log."""

    starts: Mapping[str, bytes]
    ends: Mapping[str, bytes]
    experiments: Mapping[str, bytes]
    settings: tuple[SettingsFile, ...]
    runs: tuple[str, ...]
    """Told only where there are settings, which may be of any of them."""


def _read_log_contents(log: Source) -> _LogContents:
    settings = tuple(log.settings())
    return _LogContents(
        log.plugin_data(SESSION_START_TAG),
        log.plugin_data(SESSION_END_TAG),
        log.plugin_data(EXPERIMENT_TAG),
        settings,
        tuple(info.name for info in log.runs()) if settings else (),
    )


class _ParseCache(Generic[T]):
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


def get_session_reader(log: Source) -> SessionReader:
    """The reader that all who look at a log share, so that records are read once."""
    with _readers_lock:
        return _readers.setdefault(log, SessionReader(log))


def _get_parent_experiment(name: str, experiments: Container[str]) -> str:
    """PyTorch puts one into every session, which says nothing of what belongs together."""
    above = islice(iter_ancestors(name), 1, None)
    return next((run for run in above if run in experiments), "")


def _make_recorded_session(
    run: str, start: SessionStart, end: SessionEnd | None, experiment: str
) -> Session:
    ended = end or _NO_END
    return Session(
        run,
        start.hparams,
        start.group_name or run,
        HParamSource.RECORD,
        ended.status,
        start.wall_time or None,
        ended.wall_time or None,
        start.model_uri,
        start.monitor_url,
        experiment,
    )


def _make_settings_session(
    run: str, values: HParams, end: SessionEnd | None, experiment: str
) -> Session:
    status, ended = (end or _NO_END).status, (end or _NO_END).wall_time
    return Session(
        run,
        values,
        run,
        HParamSource.SETTINGS,
        status,
        end_time=ended or None,
        experiment=experiment,
    )
