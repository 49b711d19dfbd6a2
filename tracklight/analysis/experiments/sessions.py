"""Find the sessions of a log and the runs that belong to each.

Sessions come from HParams records, from settings files for directories without records, and from
the studies of other programs (see `study_files`), whose trials need not be runs at all. The runs
of a session are the runs below it: Keras writes hyperparameters to ``trial`` and scalars to
``trial/train`` and ``trial/validation``. PyTorch's ``add_hparams`` does it the other way round and
writes hyperparameters to a run below the scalars, so a run without hyperparameters takes those of
its only child that has some.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Generic, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from tracklight.analysis.experiments import (
    ROOT,
    StoredStudy,
    StoredTrial,
    Study,
    add_studies,
    assign_studies,
    build_studies,
)
from tracklight.analysis.experiments.settings_files import parse_settings, rank_filename
from tracklight.analysis.experiments.study_files import StudyFileReader
from tracklight.analysis.source import Source
from tracklight.errors import FormatError, Message
from tracklight.formats.hparams import (
    EXPERIMENT_TAG,
    SESSION_END_TAG,
    SESSION_START_TAG,
    HParamValue,
    SessionEnd,
    SessionStart,
    Status,
    parse_experiment,
    parse_session_end_info,
    parse_session_start_info,
)
from tracklight.logdir import natural_key
from tracklight.logdir.discover import iter_ancestors
from tracklight.types import SettingsFile, StudyFile

T = TypeVar("T")
HParams = Mapping[str, HParamValue]

#: The group of metrics in the parent run of a session.
PARENT_GROUP = ".."

_NO_END = SessionEnd()


class HParamSource(IntEnum):
    """Where the hyperparameters of a session come from."""

    RECORD = 0
    SETTINGS = 1
    STUDY = 2
    """A study of another program, such as Optuna, which also has the values of its metrics."""


@dataclass(frozen=True, slots=True)
class Session:
    """One training: a run, or a directory with runs, and its hyperparameters."""

    name: str
    hparams: HParams
    group: str
    """Sessions of the same group are repeats of one trial."""
    source: HParamSource = HParamSource.RECORD
    status: Status = Status.UNKNOWN
    start_time: float | None = None
    end_time: float | None = None
    model_uri: str = ""
    monitor_url: str = ""
    study: str = ROOT
    """The study that the session belongs to; see `assign_studies`."""


class SessionRun(NamedTuple):
    """A run of a session. ``group`` is its path relative to the session, empty for the session."""

    session: str
    group: str


# ---- runs of sessions


def inherit_hparams(own: Mapping[str, T], runs: Iterable[str]) -> dict[str, T]:
    """Return the hyperparameters of each run: its own, or those of its session.

    Args:
        own: Hyperparameters by session.
        runs: All runs. Runs without a session are not in the result.
    """
    return {run: own[session_run.session] for run, session_run in assign_runs(own, runs).items()}


def assign_runs(sessions: Iterable[str], runs: Iterable[str]) -> dict[str, SessionRun]:
    """Return the session of each run that has one."""
    known = frozenset(sessions)
    only_children = _map_only_children(known)
    assigned = {}
    for run in runs:
        ancestor = next((name for name in iter_ancestors(run) if name in known), None)
        if ancestor is not None:
            assigned[run] = SessionRun(ancestor, _get_relative_path(run, ancestor))
        elif run in only_children:
            assigned[run] = SessionRun(only_children[run], PARENT_GROUP)
    return assigned


def list_settings_sessions(
    directories: Iterable[str], runs: Iterable[str], runs_without_hparams: Container[str]
) -> list[str]:
    """Return the directories with settings files that are sessions.

    A directory is a session if it is a run, or if it has runs below, such as ``train`` and
    ``test``, without settings of their own. The log directory itself is not one, as it usually
    holds many trainings.
    """
    known = frozenset(directories)
    candidates: dict[str, None] = {}
    overridden: set[str] = set()
    for run in runs:
        ancestors = [name for name in iter_ancestors(run) if name in known]
        if ancestors and run in runs_without_hparams:
            candidates[ancestors[0]] = None
            overridden.update(ancestors[1:])
    all_runs = frozenset(runs)
    return [
        name
        for name in candidates
        if name in all_runs or not (name in overridden or _is_root(name))
    ]


def _get_relative_path(run: str, session: str) -> str:
    if run == session:
        return ""
    folder = session.removesuffix(".").removesuffix("/")
    return run.removeprefix(f"{folder}/") if folder else run


def _is_root(name: str) -> bool:
    return name == "." or name.endswith("/.")


def _map_only_children(names: Iterable[str]) -> dict[str, str]:
    """Return the child of each parent that has only one."""
    children: dict[str, list[str]] = {}
    for name in names:
        children.setdefault(name.rpartition("/")[0] or ".", []).append(name)
    return {parent: own[0] for parent, own in children.items() if len(own) == 1}


# ---- reading sessions


@dataclass(frozen=True, slots=True)
class SessionList:
    """All sessions in natural order, their studies, and messages about bad files."""

    sessions: tuple[Session, ...]
    studies: tuple[Study, ...]
    problems: tuple[Message, ...]
    stored: Mapping[str, StoredTrial] = field(default_factory=dict)
    """The trials of study files by session."""


@dataclass(frozen=True, slots=True)
class _LogContents:
    """The part of a log that sessions are made from."""

    starts: Mapping[str, bytes]
    ends: Mapping[str, bytes]
    experiments: Mapping[str, bytes]
    settings: tuple[SettingsFile, ...]
    study_files: tuple[StudyFile, ...]
    runs: tuple[str, ...]
    """Empty if there are no settings files, as only these need them."""


class SessionReader:
    """Reads the sessions of a log. Records and files are parsed once, until they change."""

    def __init__(self, log: Source) -> None:
        self._log = log
        self._lock = threading.Lock()
        self._starts = _ParseCache(parse_session_start_info)
        self._ends = _ParseCache(parse_session_end_info)
        self._experiments = _ParseCache(parse_experiment)
        self._files: dict[SettingsFile, HParams | Message] = {}
        self._study_files = StudyFileReader(log)
        self._cached: tuple[_LogContents, SessionList] | None = None

    def read(self) -> SessionList:
        """Return the current sessions; the same object as before if nothing has changed."""
        contents = _read_log_contents(self._log)
        with self._lock:
            if self._cached is None or self._cached[0] != contents:
                self._cached = contents, self._build_list(contents)
            return self._cached[1]

    def read_recorded_hparams(self) -> dict[str, HParams]:
        """Return the hyperparameters of sessions with records, without listing all sessions."""
        contents = self._log.plugin_data(SESSION_START_TAG)
        with self._lock:
            starts = self._starts.parse(contents)
        return {run: start.hparams for run, start in starts.items() if start.hparams}

    def _build_list(self, contents: _LogContents) -> SessionList:
        starts = self._starts.parse(contents.starts)
        ends = self._ends.parse(contents.ends)
        experiments = self._experiments.parse(contents.experiments)
        settings, problems = self._read_settings(contents, starts)
        studies = assign_studies((*starts, *settings), experiments)
        sessions = [
            _make_recorded_session(run, start, ends.get(run), studies[run])
            for run, start in starts.items()
        ]
        sessions += [
            _make_settings_session(run, hparams, ends.get(run), studies[run])
            for run, hparams in settings.items()
        ]
        stored = self._study_files.read(contents.study_files)
        trials = _name_trials(stored.studies, studies)
        sessions += [
            _make_stored_session(name, study.name, trial) for name, (study, trial) in trials.items()
        ]
        sessions.sort(key=lambda session: natural_key(session.name))
        return SessionList(
            tuple(sessions),
            add_studies(
                build_studies(studies, experiments),
                ((study.name, study.experiment) for study, _ in trials.values()),
            ),
            (*problems, *stored.problems),
            {name: trial for name, (_, trial) in trials.items()},
        )

    def _read_settings(
        self, contents: _LogContents, starts: Mapping[str, SessionStart]
    ) -> tuple[dict[str, HParams], tuple[Message, ...]]:
        """Return the hyperparameters of directories whose runs have no records, and problems."""
        files: dict[str, list[SettingsFile]] = {}
        for file in contents.settings:
            files.setdefault(file.run, []).append(file)
        runs = contents.runs
        recorded = assign_runs(starts, runs)
        directories = list_settings_sessions(files, runs, set(runs).difference(recorded))
        return self._parse_files({directory: files[directory] for directory in directories})

    def _parse_files(
        self, files: Mapping[str, Iterable[SettingsFile]]
    ) -> tuple[dict[str, HParams], tuple[Message, ...]]:
        """Parse all files; the most specific one of each directory that has values is used."""
        result: dict[str, HParams] = {}
        problems = []
        cached, self._files = self._files, {}
        for directory, own in files.items():
            for file in sorted(own, key=lambda item: rank_filename(os.path.basename(item.path))):
                values = cached[file] if file in cached else self._parse_file(file)
                self._files[file] = values
                if isinstance(values, Message):
                    problems.append(values)
                elif values:
                    result.setdefault(directory, values)
        return result, tuple(problems)

    def _parse_file(self, file: SettingsFile) -> HParams | Message:
        """Return the values of a file, or a message if it cannot be read."""
        name = os.path.basename(file.path)
        try:
            return parse_settings(name, self._log.read_settings(file))
        except (FormatError, OSError) as error:
            return Message.format(
                "hparams.unreadable_settings",
                'Cannot read the settings in "{path}": {error}.',
                path=f"{file.run}/{name}",
                error=error,
            )


_readers: WeakKeyDictionary[Source, SessionReader] = WeakKeyDictionary()
_readers_lock = threading.Lock()


def get_session_reader(log: Source) -> SessionReader:
    """Return the reader of a log, which all users share, so that records are parsed once."""
    with _readers_lock:
        return _readers.setdefault(log, SessionReader(log))


class _ParseCache(Generic[T]):
    """Parses records of runs; most never change."""

    def __init__(self, parse: Callable[[bytes], T | None]) -> None:
        self._parse = parse
        self._parsed: dict[bytes, T | None] = {}

    def parse(self, contents: Mapping[str, bytes]) -> dict[str, T]:
        """Return the parsed records by run, without those that cannot be parsed."""
        before = self._parsed
        self._parsed = {
            data: before[data] if data in before else self._parse(data)
            for data in dict.fromkeys(contents.values())
        }
        records = ((run, self._parsed[data]) for run, data in contents.items())
        return {run: record for run, record in records if record is not None}


def _read_log_contents(log: Source) -> _LogContents:
    settings = tuple(log.settings())
    study_files = tuple(log.study_files())
    return _LogContents(
        log.plugin_data(SESSION_START_TAG),
        log.plugin_data(SESSION_END_TAG),
        log.plugin_data(EXPERIMENT_TAG),
        settings,
        study_files,
        tuple(info.name for info in log.runs()) if settings else (),
    )


def _name_trials(
    studies: Iterable[StoredStudy], known: Container[str]
) -> dict[str, tuple[StoredStudy, StoredTrial]]:
    """Return the trials of study files by session name, without those that are sessions already.

    Ray Tune writes event files and settings beside its results, which say more.
    """
    return {
        name: (study, trial)
        for study in studies
        for trial in study.trials
        if (name := _join(study.name, trial.name)) not in known
    }


def _join(directory: str, name: str) -> str:
    folder = directory.removesuffix(ROOT).rstrip("/")
    return f"{folder}/{name}" if folder else name


def _make_stored_session(name: str, study: str, trial: StoredTrial) -> Session:
    return Session(
        name=name,
        hparams=trial.hparams,
        group=name,
        source=HParamSource.STUDY,
        status=trial.status,
        start_time=trial.start_time,
        end_time=trial.end_time,
        study=study,
    )


def _make_recorded_session(
    run: str, start: SessionStart, end: SessionEnd | None, study: str
) -> Session:
    end = end or _NO_END
    return Session(
        name=run,
        hparams=start.hparams,
        group=start.group_name or run,
        source=HParamSource.RECORD,
        status=end.status,
        start_time=start.wall_time or None,
        end_time=end.wall_time or None,
        model_uri=start.model_uri,
        monitor_url=start.monitor_url,
        study=study,
    )


def _make_settings_session(
    run: str, hparams: HParams, end: SessionEnd | None, study: str
) -> Session:
    end = end or _NO_END
    return Session(
        name=run,
        hparams=hparams,
        group=run,
        source=HParamSource.SETTINGS,
        status=end.status,
        end_time=end.wall_time or None,
        study=study,
    )
