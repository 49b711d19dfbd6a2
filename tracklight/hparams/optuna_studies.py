"""Show Optuna studies as runs: convert their storage to event files and keep these up to date.

    with follow_studies("sqlite:///study.db", directory):
        ...  # trials appear as runs ``<study>/trial-0007`` below the directory

Used by ``tracklight serve --optuna``.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracklight.errors import LogError, MissingDependencyError
from tracklight.formats import hparams, summary
from tracklight.formats.hparams import HParamValue
from tracklight.formats.proto import Message
from tracklight.formats.summary import encode_event, encode_file_version
from tracklight.formats.tfrecord import encode_record

if TYPE_CHECKING:
    import optuna

_log = logging.getLogger(__name__)

_POLL_INTERVAL_S = 2.0
_UNSAFE_NAME = re.compile(r"[^\w.=,+-]+")


@contextmanager
def follow_studies(
    url: str, directory: Path, poll_interval_s: float = _POLL_INTERVAL_S
) -> Iterator[None]:
    """Convert all studies of a storage and follow them in a background thread.

    Args:
        url: URL of an Optuna storage, such as ``sqlite:///study.db``.
        directory: Log directory for the event files.
        poll_interval_s: Time between two queries of the storage.

    Raises:
        LogError: The storage does not exist or cannot be read.
        MissingDependencyError: Optuna is not installed.
    """
    mirror = StudyMirror(url, directory)
    mirror.refresh()
    stopped = threading.Event()
    thread = threading.Thread(target=_follow, args=(mirror, stopped, poll_interval_s), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


def _follow(mirror: StudyMirror, stopped: threading.Event, poll_interval_s: float) -> None:
    while not stopped.wait(poll_interval_s):
        try:
            mirror.refresh()
        except LogError as error:  # the database may be busy or temporarily unavailable
            _log.warning("%s", error)


@dataclass
class _TrialFile:
    """The event file of a trial, and how much of the trial is in it."""

    path: Path
    params: dict[str, Any]
    reported_count: int = 0
    is_finished: bool = False


class StudyMirror:
    """Mirrors the studies of one storage as event files.

    Args:
        url: URL of the storage.
        directory: Log directory for the event files.

    Raises:
        LogError: The storage does not exist or cannot be opened.
        MissingDependencyError: Optuna is not installed.
    """

    def __init__(self, url: str, directory: Path) -> None:
        self._url = url
        self._directory = directory
        self._storage = _open_storage(url)
        self._trials: dict[tuple[str, int], _TrialFile] = {}
        self._studies: set[str] = set()

    def refresh(self) -> None:
        """Write what is new in the storage.

        Raises:
            LogError: The storage cannot be read.
        """
        import optuna

        try:
            for name in optuna.get_all_study_names(self._storage):
                self._write_study(optuna.load_study(study_name=name, storage=self._storage))
        except Exception as error:  # each database driver has its own exceptions
            raise LogError(f'Cannot read the studies in "{self._url}": {error}') from error

    def _write_study(self, study: optuna.Study) -> None:
        study_dir = self._directory / (
            _UNSAFE_NAME.sub("_", study.study_name).strip(".") or "study"
        )
        metrics = _get_metric_names(study)
        if study.study_name not in self._studies:
            self._studies.add(study.study_name)
            directions = [direction.name.lower() for direction in study.directions]
            infos = [
                hparams.Metric(tag, description=f"An objective of the study ({direction}).")
                for tag, direction in zip(metrics, directions, strict=True)
            ]
            experiment = hparams.build_experiment([], infos, name=study.study_name)
            _append_events(_create_event_file(study_dir, 0.0), [(0.0, 0, experiment)])
        for trial in study.get_trials(deepcopy=False):
            self._write_trial(study_dir, study.study_name, trial, metrics)

    def _write_trial(
        self, study_dir: Path, study: str, trial: optuna.trial.FrozenTrial, metrics: list[str]
    ) -> None:
        if trial.datetime_start is None:  # enqueued
            return
        started = trial.datetime_start.timestamp()
        trial_file = self._trials.get((study, trial.number))
        events: list[tuple[float, int, Message]] = []
        if trial_file is None or trial_file.params != trial.params:
            # A running trial gets its values one by one. Readers use the first record of
            # hyperparameters in a file, so a change of values starts the file over.
            path = _create_event_file(study_dir / f"trial-{trial.number:04}", started)
            trial_file = self._trials[study, trial.number] = _TrialFile(path, dict(trial.params))
            events.append((started, 0, _build_session_start(trial, started)))
        if not trial_file.is_finished:
            events += self._iter_new_events(trial_file, trial, metrics, started)
            _append_events(trial_file.path, events)

    def _iter_new_events(
        self,
        trial_file: _TrialFile,
        trial: optuna.trial.FrozenTrial,
        metrics: list[str],
        started: float,
    ) -> Iterator[tuple[float, int, Message]]:
        """Yield the intermediate values that are new and, when the trial has ended, the result.

        Intermediate and final values form one series. Optuna has intermediate values only for
        studies with a single objective.
        """
        reported = sorted(trial.intermediate_values.items())
        for step, value in reported[trial_file.reported_count :]:
            yield started, int(step), summary.scalar(metrics[0], value)
        trial_file.reported_count = len(reported)
        if trial.state.is_finished():
            trial_file.is_finished = True
            ended = trial.datetime_complete.timestamp() if trial.datetime_complete else started
            last_step = int(reported[-1][0]) + 1 if reported else 0
            for tag, value in zip(metrics, trial.values or (), strict=False):
                yield ended, last_step, summary.scalar(tag, value)
            has_failed = trial.state.name == "FAIL"
            status = hparams.Status.FAILURE if has_failed else hparams.Status.SUCCESS
            yield ended, 0, hparams.build_session_end(status, wall_time=ended)


def _get_metric_names(study: optuna.Study) -> list[str]:
    names = getattr(study, "metric_names", None)
    if names:
        return list(names)
    count = len(study.directions)
    return ["objective"] if count == 1 else [f"objective_{number}" for number in range(count)]


def _build_session_start(trial: optuna.trial.FrozenTrial, started: float) -> Message:
    values = {name: _as_hparam_value(value) for name, value in trial.params.items()}
    return hparams.build_session_start(values, wall_time=started)


def _as_hparam_value(value: Any) -> HParamValue:
    return value if isinstance(value, (bool, int, float, str)) else str(value)


def _create_event_file(run_dir: Path, started: float) -> Path:
    run_dir.mkdir(parents=True, exist_ok=True)
    path = run_dir / f"events.out.tfevents.{int(started):010}.optuna"
    path.write_bytes(encode_record(encode_file_version(started)))
    return path


def _append_events(path: Path, events: list[tuple[float, int, Message]]) -> None:
    if events:
        records = [
            encode_record(encode_event(wall_time, step, [value]))
            for wall_time, step, value in events
        ]
        with path.open("ab") as file:
            file.write(b"".join(records))


def _open_storage(url: str) -> Any:
    try:
        import optuna
    except ImportError as error:
        raise MissingDependencyError("--optuna", "search") from error
    file = url.removeprefix("sqlite:///")
    if file != url and not Path(file).is_file():  # SQLite would create it
        raise LogError(f'No file "{file}" for the Optuna storage "{url}".')
    try:
        return optuna.storages.RDBStorage(url, skip_table_creation=True)
    except Exception as error:
        raise LogError(f'Cannot open "{url}" as an Optuna storage: {error}') from error
