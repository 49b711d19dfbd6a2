"""Shows studies of Optuna as runs: writes what their storage knows as event files, and follows it.

with follow_studies("sqlite:///study.db", folder):
    ...  # trials are runs ``<study>/trial-0007`` below the folder, also those to come
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
from tracklight.formats.event import encode_event, encode_file_version
from tracklight.formats.hparams import HParamValue
from tracklight.formats.proto import Message
from tracklight.formats.tfrecord import encode_record

if TYPE_CHECKING:
    import optuna

log = logging.getLogger(__name__)

_POLL_INTERVAL_S = 2.0
_UNSAFE_NAME = re.compile(r"[^\w.=,+-]+")


@contextmanager
def follow_studies(
    url: str, folder: Path, poll_interval_s: float = _POLL_INTERVAL_S
) -> Iterator[None]:
    """Keep ``folder`` up to date with all studies of a storage, in a thread of its own."""
    mirror = StudyMirror(url, folder)
    mirror.refresh()
    stopped = threading.Event()
    thread = threading.Thread(target=_follow, args=(mirror, stopped, poll_interval_s), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


def _follow(mirror: StudyMirror, stopped: threading.Event, pause_s: float) -> None:
    while not stopped.wait(pause_s):
        try:
            mirror.refresh()
        except LogError as error:  # a database that is busy or away may well come back
            log.warning("%s", error)


@dataclass
class _TrialFile:
    """How much of a trial is in its file."""

    path: Path
    params: dict[str, Any]
    reported_count: int = 0
    is_finished: bool = False


class StudyMirror:
    """The studies of one storage as event files."""

    def __init__(self, url: str, folder: Path) -> None:
        self._url = url
        self._folder = folder
        self._storage = _open_storage(url)
        self._trials: dict[tuple[str, int], _TrialFile] = {}
        self._studies: set[str] = set()

    def refresh(self) -> None:
        """Write what is new."""
        import optuna

        try:
            for name in optuna.get_all_study_names(self._storage):
                self._write_study(optuna.load_study(study_name=name, storage=self._storage))
        # Storages fail in ways of their own, and each database in its own way.
        except Exception as error:
            raise LogError(f'the studies in "{self._url}" cannot be read: {error}') from error

    def _write_study(self, study: optuna.Study) -> None:
        folder = self._folder / (_UNSAFE_NAME.sub("_", study.study_name).strip(".") or "study")
        metrics = _get_metric_names(study)
        if study.study_name not in self._studies:
            self._studies.add(study.study_name)
            wanted = [direction.name.lower() for direction in study.directions]
            infos = [
                hparams.Metric(tag, description=f"Optuna is to {aim} it.")
                for tag, aim in zip(metrics, wanted, strict=True)
            ]
            experiment = hparams.build_experiment([], infos, name=study.study_name)
            _append_events(_create_event_file(folder, 0.0), [(0.0, 0, experiment)])
        for trial in study.get_trials(deepcopy=False):
            self._write_trial(folder, study.study_name, trial, metrics)

    def _write_trial(
        self, folder: Path, study: str, trial: optuna.trial.FrozenTrial, metrics: list[str]
    ) -> None:
        if trial.datetime_start is None:  # it waits for its turn
            return
        began = trial.datetime_start.timestamp()
        written = self._trials.get((study, trial.number))
        events: list[tuple[float, int, Message]] = []
        if written is None or written.params != trial.params:
            # A trial that runs is given its values one by one; the first record counts for good.
            path = _create_event_file(folder / f"trial-{trial.number:04}", began)
            written = self._trials[study, trial.number] = _TrialFile(path, dict(trial.params))
            events.append((began, 0, _build_session_start(trial, began)))
        if not written.is_finished:
            events += self._iter_new_events(written, trial, metrics, began)
            _append_events(written.path, events)

    def _iter_new_events(
        self,
        written: _TrialFile,
        trial: optuna.trial.FrozenTrial,
        metrics: list[str],
        began: float,
    ) -> Iterator[tuple[float, int, Message]]:
        """Values on the way and the one in the end are one curve; only single ones can be told."""
        reported = sorted(trial.intermediate_values.items())
        for step, value in reported[written.reported_count :]:
            yield began, int(step), summary.scalar(metrics[0], value)
        written.reported_count = len(reported)
        if trial.state.is_finished():
            written.is_finished = True
            ended = trial.datetime_complete.timestamp() if trial.datetime_complete else began
            last = int(reported[-1][0]) + 1 if reported else 0
            for tag, value in zip(metrics, trial.values or (), strict=False):
                yield ended, last, summary.scalar(tag, value)
            failed = trial.state.name == "FAIL"
            status = hparams.Status.FAILURE if failed else hparams.Status.SUCCESS
            yield ended, 0, hparams.build_session_end(status, wall_time=ended)


def _get_metric_names(study: optuna.Study) -> list[str]:
    named = getattr(study, "metric_names", None)
    count = len(study.directions)
    return list(
        named or (["objective"] if count == 1 else [f"objective_{n}" for n in range(count)])
    )


def _build_session_start(trial: optuna.trial.FrozenTrial, began: float) -> Message:
    given = {name: _as_hparam_value(value) for name, value in trial.params.items()}
    return hparams.build_session_start(given, wall_time=began)


def _as_hparam_value(value: Any) -> HParamValue:
    return value if isinstance(value, (bool, int, float, str)) else str(value)


def _create_event_file(run: Path, began: float) -> Path:
    run.mkdir(parents=True, exist_ok=True)
    path = run / f"events.out.tfevents.{int(began):010}.optuna"
    path.write_bytes(encode_record(encode_file_version(began)))
    return path


def _append_events(path: Path, events: list[tuple[float, int, Message]]) -> None:
    if events:
        with path.open("ab") as file:
            file.write(
                b"".join(encode_record(encode_event(at, step, [it])) for at, step, it in events)
            )


def _open_storage(url: str) -> Any:
    try:
        import optuna
    except ImportError as error:
        raise MissingDependencyError("--optuna", "search") from error
    file = url.removeprefix("sqlite:///")
    if file != url and not Path(file).is_file():  # which would be made
        raise LogError(f'there is no file "{file}", so "{url}" holds no study')
    try:
        return optuna.storages.RDBStorage(url, skip_table_creation=True)
    except Exception as error:
        raise LogError(f'"{url}" cannot be opened as a storage of Optuna: {error}') from error
