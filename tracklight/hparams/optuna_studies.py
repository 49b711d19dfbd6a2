"""Optuna: `search` logs every trial of a new study, `follow_studies` shows existing ones as runs.

    def objective(trial):
        model = build(units=trial["units"], dropout=trial["dropout"])
        for epoch in range(10):
            trial.log({"accuracy": train(model, trial["lr"])}, epoch)
        return evaluate(model)

    space = {"lr": (1e-5, 1e-1, "log"), "units": [16, 32, 64], "dropout": (0.0, 0.5)}
    study = tracklight.hparams.search(objective, space, n_trials=50, logdir="logs/search")

In a search space, a list is a choice and a tuple ``(low, high)`` or ``(low, high, "log")`` an
interval, of integers if both bounds are ints. Domains of `tracklight.hparams` and distributions of
Optuna are accepted as well.

``tracklight serve --optuna`` converts the storage of studies to event files and keeps these up to
date:

    with follow_studies("sqlite:///study.db", directory):
        ...  # trials appear as runs ``<study>/trial-0007`` below the directory
"""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tracklight.errors import LogError, MissingDependencyError, UsageError
from tracklight.formats import hparams, summary
from tracklight.formats.hparams import HParamValue, Status
from tracklight.formats.proto import Message
from tracklight.formats.summary import encode_event, encode_file_version
from tracklight.formats.tfrecord import encode_record
from tracklight.hparams.session import (
    Discrete,
    Domain,
    HParam,
    IntInterval,
    Metric,
    RealInterval,
    build_experiment,
    log_hparams,
    log_session_end,
)
from tracklight.writer.event_writer import EventWriter

if TYPE_CHECKING:
    import optuna
    from optuna.distributions import BaseDistribution


_log = logging.getLogger(__name__)

# ---- search

Space = Mapping[str | HParam, Any]
Objective = Callable[["SearchTrial"], float]
Direction = Literal["minimize", "maximize"]
PathLike = str | os.PathLike[str]


class SearchTrial(Mapping[str, HParamValue]):
    """One trial of a search: the hyperparameters to use, by name, and a run to log to.

    Attributes:
        number: Number of the trial.
        logdir: Directory of its run. Anything else that is logged there belongs to the trial.
        writer: The event writer of the run.
    """

    def __init__(
        self,
        values: Mapping[str, HParamValue],
        optuna_trial: optuna.Trial,
        logdir: str,
        metric: str,
    ) -> None:
        self.number: int = optuna_trial.number
        self.logdir = logdir
        self.writer = EventWriter(logdir)
        self._values = dict(values)
        self._optuna_trial = optuna_trial
        self._metric = metric
        self._next_step = 0

    def __getitem__(self, name: str) -> HParamValue:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        """Log scalars.

        Args:
            metrics: Numbers by tag.
            step: Their step.
        """
        for tag, value in metrics.items():
            self.writer.scalar(tag, float(value), step)

    def report(self, value: float, step: int) -> None:
        """Log an intermediate value of the objective and report it to Optuna.

        Raises:
            optuna.TrialPruned: Optuna stops the trial early.
        """
        import optuna

        self.writer.scalar(self._metric, float(value), step)
        self._next_step = max(self._next_step, step + 1)
        self._optuna_trial.report(value, step)
        if self._optuna_trial.should_prune():
            raise optuna.TrialPruned

    def finish(self, value: float) -> None:
        """Log the final value of the objective, after the intermediate ones."""
        self.writer.scalar(self._metric, value, self._next_step)

    def end(self, status: Status) -> None:
        """Log how the trial ended."""
        log_session_end(self.writer, status)
        self.writer.close()


def search(
    objective: Objective,
    space: Space,
    n_trials: int,
    sampler: Literal["tpe", "random", "grid"] | optuna.samplers.BaseSampler = "tpe",
    logdir: PathLike = "logs/search",
    *,
    direction: Direction = "maximize",
    metric: str = "objective",
    seed: int | None = None,
    study: optuna.Study | None = None,
    catch: type[Exception] | tuple[type[Exception], ...] = (),
) -> optuna.Study:
    """Search for good hyperparameters. Every trial is logged as a run below ``logdir``.

    Args:
        objective: Called with a `SearchTrial`; returns the value to optimize.
        space: Hyperparameters by name: a list of choices, ``(low, high)`` or
            ``(low, high, "log")``, a domain, or an Optuna distribution.
        n_trials: Number of trials.
        sampler: How to choose hyperparameters: the name of a sampler or one of Optuna's.
        logdir: Directory of the search.
        direction: Whether to minimize or maximize the objective; a given study has its own.
        metric: Tag under which the value of the objective is logged.
        seed: Seed of the sampler.
        study: An existing study to continue.
        catch: Exceptions of the objective that do not end the search.

    Returns:
        Optuna's study.

    Raises:
        UsageError: The space or the sampler is invalid.
        MissingDependencyError: Optuna is not installed.

    Example:
        >>> study = tracklight.hparams.search(
        ...     lambda trial: -((trial["x"] - 2) ** 2), {"x": (-5.0, 5.0)}, n_trials=20
        ... )
    """
    create_study = _import_optuna().create_study
    distributions = parse_space(space)
    if study is None:
        study = create_study(
            direction=direction, sampler=_create_sampler(sampler, distributions, seed)
        )
    description = f"The objective of the search ({study.direction.name.lower()})."
    _log_experiment(logdir, space, Metric(metric, description=description))

    running: list[SearchTrial] = []

    def run_objective(optuna_trial: optuna.Trial) -> float:
        values = {
            name: suggest_value(optuna_trial, name, distribution)
            for name, distribution in distributions.items()
        }
        run_dir = os.path.join(os.fspath(logdir), f"trial-{optuna_trial.number:04}")
        trial = SearchTrial(values, optuna_trial, run_dir, metric)
        running.append(trial)
        log_hparams(trial.writer, values, f"trial-{trial.number:04}")
        value = float(objective(trial))
        trial.finish(value)
        return value

    def end_trial(_study: optuna.Study, optuna_trial: optuna.trial.FrozenTrial) -> None:
        while running:  # it may have failed before it had hyperparameters
            running.pop().end(_get_status(optuna_trial))

    try:
        study.optimize(run_objective, n_trials=n_trials, catch=catch, callbacks=[end_trial])
    finally:
        # Optuna calls no callback after an exception that ends the search.
        for trial in running:
            trial.end(Status.FAILURE)
    return study


def _log_experiment(logdir: PathLike, space: Space, metric: Metric) -> None:
    writer = EventWriter(logdir)
    writer.add([build_experiment(build_hparams(space), [metric], 0.0)], 0)
    writer.close()


def _create_sampler(sampler: Any, distributions: Mapping[str, Any], seed: int | None) -> Any:
    optuna = _import_optuna()
    if isinstance(sampler, optuna.samplers.BaseSampler):
        return sampler
    if sampler == "grid":
        choices = {name: list_choices(distribution) for name, distribution in distributions.items()}
        return optuna.samplers.GridSampler(choices, seed=seed)
    classes = {"tpe": optuna.samplers.TPESampler, "random": optuna.samplers.RandomSampler}
    if sampler not in classes:
        raise UsageError(f'No sampler "{sampler}". Use "tpe", "random" or "grid".')
    return classes[sampler](seed=seed)


def _import_optuna(feature: str = "tracklight.hparams.search") -> Any:
    try:
        import optuna
    except ImportError as error:
        raise MissingDependencyError(feature, "search") from error
    return optuna


def parse_space(space: Space) -> dict[str, BaseDistribution]:
    """Convert a search space to Optuna's distributions by name. Raises UsageError."""
    if not space:
        raise UsageError("The search space is empty. Add at least one hyperparameter.")
    return {
        _get_name(key): _parse_values(_get_name(key), _get_domain(key, values))
        for key, values in space.items()
    }


def build_hparams(space: Space) -> list[HParam]:
    """Convert a search space to the descriptions that are logged for the search."""
    return [
        HParam(_get_name(key), _find_domain(_get_domain(key, values)))
        for key, values in space.items()
    ]


def list_choices(distribution: BaseDistribution) -> list[Any]:
    """Return all values of a finite distribution. Raises UsageError for others."""
    from optuna.distributions import CategoricalDistribution, IntDistribution

    if isinstance(distribution, CategoricalDistribution):
        return list(distribution.choices)
    if isinstance(distribution, IntDistribution):
        return list(range(distribution.low, distribution.high + 1, distribution.step))
    raise UsageError("A grid search needs lists of values. Pass a list instead of an interval.")


def suggest_value(trial: optuna.Trial, name: str, distribution: BaseDistribution) -> Any:
    """Let the sampler of a trial choose a value."""
    from optuna import distributions

    if isinstance(distribution, distributions.CategoricalDistribution):
        return trial.suggest_categorical(name, distribution.choices)
    if isinstance(distribution, distributions.IntDistribution):
        int_bounds = distribution.low, distribution.high
        return trial.suggest_int(name, *int_bounds, step=distribution.step, log=distribution.log)
    if isinstance(distribution, distributions.FloatDistribution):
        bounds = distribution.low, distribution.high
        return trial.suggest_float(name, *bounds, step=distribution.step, log=distribution.log)
    raise UsageError(f'Unknown type of distribution for "{name}": {distribution}')


def _get_name(key: str | HParam) -> str:
    return key.name if isinstance(key, HParam) else key


def _get_domain(key: str | HParam, values: Any) -> Any:
    return key.domain if values is None and isinstance(key, HParam) else values


def _parse_values(name: str, values: Any) -> BaseDistribution:
    from optuna import distributions

    if isinstance(values, distributions.BaseDistribution):
        return values
    if isinstance(values, Discrete):
        return distributions.CategoricalDistribution(tuple(values.values))
    if isinstance(values, (IntInterval, RealInterval)):
        values = (values.min_value, values.max_value)
    if isinstance(values, tuple) and 2 <= len(values) <= 3:
        return _parse_interval(name, *values)
    if isinstance(values, Sequence) and not isinstance(values, (str, tuple)) and values:
        return distributions.CategoricalDistribution(tuple(values))
    raise UsageError(
        f'Invalid search space for "{name}": {values!r}. Use a list of values, (low, high), or '
        '(low, high, "log").'
    )


def _parse_interval(name: str, low: Any, high: Any, scale: str = "linear") -> BaseDistribution:
    from optuna import distributions

    if scale not in ("linear", "log"):
        raise UsageError(f'Invalid scale {scale!r} for "{name}". Use "linear" or "log".')
    is_integer = isinstance(low, int) and isinstance(high, int)
    create = distributions.IntDistribution if is_integer else distributions.FloatDistribution
    try:
        return create(low, high, log=scale == "log")
    except (TypeError, ValueError) as error:
        raise UsageError(f'Invalid search space for "{name}": {error}') from None


def _find_domain(values: Any) -> Domain | None:
    """Return the domain to log; None if there is none, as for values of several types."""
    if isinstance(values, Domain):
        return values
    if isinstance(values, tuple) and len(values) >= 2:
        return RealInterval(float(values[0]), float(values[1]))
    if isinstance(values, Sequence) and len({type(value) for value in values}) == 1:
        return Discrete(values) if type(values[0]) in (int, float, bool, str) else None
    return None


# ---- existing studies


_POLL_INTERVAL_S = 2.0
_FINISHED_STATUSES = {
    "COMPLETE": Status.SUCCESS,
    "PRUNED": Status.PRUNED,
    "FAIL": Status.FAILURE,
}
#: Before Optuna 5, a trial has no attribute `constraints`.
_CONSTRAINTS_KEY = "constraints"
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
            last_step, last_value = reported[-1] if reported else (-1, None)
            for tag, value in zip(metrics, trial.values or (), strict=False):
                if value != last_value:  # a pruned trial has its last intermediate value
                    yield ended, int(last_step) + 1, summary.scalar(tag, value)
            yield ended, 0, hparams.build_session_end(_get_status(trial), wall_time=ended)


def _get_status(trial: optuna.trial.FrozenTrial) -> Status:
    """Return how a trial that has ended did so."""
    status = _FINISHED_STATUSES[trial.state.name]
    constraints = getattr(trial, "constraints", None)
    if constraints is None:
        constraints = dict(enumerate(trial.system_attrs.get(_CONSTRAINTS_KEY, ())))
    is_infeasible = any(value > 0 for value in constraints.values())
    return Status.INFEASIBLE if is_infeasible and status is Status.SUCCESS else status


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
    optuna = _import_optuna("--optuna")
    file = url.removeprefix("sqlite:///")
    if file != url and not Path(file).is_file():  # SQLite would create it
        raise LogError(f'No file "{file}" for the Optuna storage "{url}".')
    try:
        return optuna.storages.RDBStorage(url, skip_table_creation=True)
    except Exception as error:
        raise LogError(f'Cannot open "{url}" as an Optuna storage: {error}') from error
