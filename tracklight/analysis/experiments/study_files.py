"""Load the studies in the files of a log: Optuna storages, Keras Tuner and Ray Tune folders.

Keras Tuner writes ``<project>/oracle.json`` and ``<project>/trial_<id>/trial.json``. Ray Tune
writes ``<experiment>/<trial>/params.json`` and ``result.json``, which has one report per line, and
``<experiment>/experiment_state-<time>.json`` with the status of each trial.

Files are read again when they change. A file that cannot be read becomes a message; all others are
still shown.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tracklight.analysis.experiments import (
    MAX_TRIALS,
    ROOT,
    StoredStudy,
    StoredTrial,
    StudyContents,
    as_hparam_value,
    find_number,
    find_step,
    make_objective,
    shorten_name,
)
from tracklight.analysis.experiments.optuna_storage import (
    read_optuna_database,
    read_optuna_journal,
)
from tracklight.analysis.experiments.settings_files import parse_settings
from tracklight.analysis.source import Source
from tracklight.errors import FormatError, Message
from tracklight.formats.hparams import (
    Experiment,
    HParam,
    HParamValue,
    Interval,
    Status,
    iter_flattened,
)
from tracklight.logdir import natural_key
from tracklight.logdir.discover import (
    KERAS_ORACLE,
    KERAS_TRIAL,
    RAY_PARAMS,
    RAY_RESULT,
    is_database,
    is_ray_state,
)
from tracklight.types import StudyFile
from tracklight.util.parsing import load_json

# ---- Keras Tuner and Ray Tune

_MAX_JSON_BYTES = 64 << 20
_MAX_REPORTS = 1_000_000
_MAX_METRICS = 200

_KERAS_STATUSES = {
    "RUNNING": Status.RUNNING,
    "IDLE": Status.RUNNING,
    "STOPPED": Status.SUCCESS,
    "COMPLETED": Status.SUCCESS,
    "INVALID": Status.FAILURE,
    "FAILED": Status.FAILURE,
}
_RAY_STATUSES = {
    "TERMINATED": Status.SUCCESS,
    "ERROR": Status.FAILURE,
    "RUNNING": Status.RUNNING,
    "PENDING": Status.RUNNING,
    "PAUSED": Status.RUNNING,
}
#: What Ray Tune adds to each report.
_RAY_BOOKKEEPING = {
    "date",
    "done",
    "episodes_total",
    "experiment_tag",
    "hostname",
    "iterations_since_restore",
    "node_ip",
    "pid",
    "should_checkpoint",
    "time_since_restore",
    "time_this_iter_s",
    "timestamp",
    "timesteps_since_restore",
    "timesteps_total",
    "training_iteration",
    "trial_id",
    "warmup_time",
    "checkpoint_dir_name",
}


# ---- Keras Tuner


def read_keras_trial(name: str, path: Path) -> tuple[StoredTrial, dict[str, str], list[str]]:
    """Read a ``trial.json``.

    Returns:
        The trial, the direction of each metric (``min`` or ``max``), and the metrics whose value
        is the score of the trial.

    Raises:
        FormatError: The file is not JSON, or not a trial.
        OSError: The file cannot be read.
    """
    content = _read_json(path)
    state = _get_mapping(content, "hyperparameters")
    metrics = _get_mapping(_get_mapping(content, "metrics"), "metrics")
    values = {shorten_name(key): value for key, value in _get_mapping(state, "values").items()}
    curves, directions = {}, {}
    score, best_step = find_number(content.get("score")), content.get("best_step")
    objectives = []
    for tag, metric in [*metrics.items()][:_MAX_METRICS]:
        points = {}
        for observation in metric.get("observations") or () if isinstance(metric, dict) else ():
            step, value = find_step(observation.get("step")), _mean(observation.get("value"))
            if step is not None and value is not None:
                points[step] = value
        if points:
            curves[str(tag)] = tuple(sorted(points.items()))
            directions[str(tag)] = str(metric.get("direction"))
            if score is not None and points.get(find_step(best_step) or 0) == score:
                objectives.append(str(tag))
    trial = StoredTrial(
        name=name,
        hparams=_make_hparams(values),
        status=_KERAS_STATUSES.get(str(content.get("status")), Status.UNKNOWN),
        curves=curves,
    )
    return trial, directions, objectives


def make_keras_experiment(
    path: Path | None, directions: Mapping[str, str], objectives: Iterable[Sequence[str]]
) -> Experiment:
    """Return what a search of Keras Tuner optimizes, and its hyperparameters.

    Args:
        path: The file ``oracle.json``, whose search space is optional; None if there is none.
        directions: The direction of each metric.
        objectives: For each trial, the metrics whose value is its score.

    Raises:
        FormatError: The file is not JSON.
        OSError: The file cannot be read.
    """
    counts = Counter(tag for tags in objectives for tag in tags)
    # Metrics of training and validation are often equal at the start; searches use the latter.
    ranked = sorted(counts, key=lambda tag: (counts[tag], tag.startswith("val_")), reverse=True)
    tags = ranked[:1]
    goals = {"min": "minimize", "max": "maximize"}
    metrics = tuple(make_objective(tag, goals.get(directions.get(tag, ""))) for tag in tags)
    content = {} if path is None else _read_json(path)
    space = _get_mapping(content, "hyperparameters").get("space")
    return Experiment(tuple(_list_domains(space)), metrics)


def _list_domains(space: Any) -> list[HParam]:
    domains = []
    for entry in space if isinstance(space, list) else ():
        config = _get_mapping(entry, "config") if isinstance(entry, dict) else {}
        name = config.get("name")
        low, high = find_number(config.get("min_value")), find_number(config.get("max_value"))
        if isinstance(name, str):
            domain = Interval(low, high) if low is not None and high is not None else None
            domains.append(HParam(shorten_name(name), domain))
    return domains


def _mean(values: Any) -> float | None:
    """Return the mean over the executions of a trial."""
    numbers = [find_number(value) for value in values] if isinstance(values, list) else []
    known = [number for number in numbers if number is not None]
    return sum(known) / len(known) if known else None


# ---- Ray Tune


def read_ray_state(path: Path) -> tuple[dict[str, Status], Experiment]:
    """Return the status of each trial id and what is optimized from ``experiment_state-*.json``.

    The file names the metric, but not whether it is minimized or maximized.

    Raises:
        FormatError: The file is not JSON.
        OSError: The file cannot be read.
    """
    content = _read_json(path)
    entries = content.get("trial_data") or content.get("checkpoints") or []
    statuses = {}
    for entry in entries if isinstance(entries, list) else ():
        state = entry[0] if isinstance(entry, list) and entry else entry
        if isinstance(state, str):
            try:
                state = load_json(state)
            except (ValueError, RecursionError):
                continue
        if isinstance(state, dict) and "trial_id" in state:
            status = _RAY_STATUSES.get(str(state.get("status")), Status.UNKNOWN)
            statuses[str(state["trial_id"])] = status
    metric = _get_mapping(content, "runner_data").get("_metric")
    objectives = (make_objective(metric, None),) if isinstance(metric, str) and metric else ()
    return statuses, Experiment((), objectives)


def read_ray_trial(
    name: str, params: Path | None, results: Path, statuses: Mapping[str, Status]
) -> tuple[StoredTrial, int]:
    """Read the files of a trial.

    Args:
        name: The name of the trial.
        params: The file ``params.json``; None if there is none.
        results: The file ``result.json``.
        statuses: The status of each trial id.

    Returns:
        The trial, and the number of lines that cannot be read.

    Raises:
        FormatError: A file is too large, or ``params.json`` is not JSON.
        OSError: A file cannot be read.
    """
    _check_size(results)
    curves: dict[str, dict[int, float]] = {}
    damaged = 0
    first: dict[str, Any] = {}
    last: dict[str, Any] = {}
    with results.open("rb") as file:
        for count, line in enumerate(file):
            report = _load_line(line)
            if not isinstance(report, dict):
                damaged += line.endswith(b"\n")  # the last line may not be complete yet
                continue
            first, last = first or report, report
            step = find_step(report.get("training_iteration")) or count + 1
            for tag, value in iter_flattened(report):
                number = find_number(value)
                if number is None or tag in _RAY_BOOKKEEPING or tag.startswith("config/"):
                    continue
                if tag in curves or len(curves) < _MAX_METRICS:
                    curves.setdefault(tag, {})[step] = number
            if count >= _MAX_REPORTS:
                break
    hparams = (
        parse_settings("params.json", _read_bytes(params))
        if params is not None
        else _make_hparams(dict(iter_flattened(_get_mapping(last, "config"))))
    )
    status = statuses.get(str(last.get("trial_id")), Status.UNKNOWN)
    if status is Status.UNKNOWN and last:
        status = Status.SUCCESS if last.get("done") is True else Status.UNKNOWN
    start, end = find_number(first.get("timestamp")), find_number(last.get("timestamp"))
    if start is not None:
        start -= find_number(first.get("time_total_s")) or 0.0
    trial = StoredTrial(
        name=name,
        hparams=hparams,
        status=status,
        start_time=start,
        end_time=end if status in (Status.SUCCESS, Status.FAILURE) else None,
        curves={tag: tuple(sorted(points.items())) for tag, points in curves.items()},
    )
    return trial, damaged


# ---- JSON


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = load_json(_read_bytes(path))
    except (ValueError, RecursionError) as error:
        raise FormatError("hparams.invalid_json", "invalid JSON: {error}", error=error) from None
    if not isinstance(content, dict):
        raise FormatError(
            "hparams.file_not_a_mapping", "the file is not a mapping of names to values"
        )
    return content


def _read_bytes(path: Path) -> bytes:
    _check_size(path)
    return path.read_bytes()


def _check_size(path: Path) -> None:
    if path.stat().st_size > _MAX_JSON_BYTES:
        raise FormatError(
            "hparams.study_file_too_large",
            "the file is larger than {size}",
            size=f"{_MAX_JSON_BYTES >> 20} MB",
        )


def _load_line(line: bytes) -> Any:
    try:
        return load_json(line)
    except (ValueError, RecursionError):
        return None


def _get_mapping(content: Any, key: str) -> dict[str, Any]:
    value = content.get(key) if isinstance(content, dict) else None
    return value if isinstance(value, dict) else {}


def _make_hparams(values: Mapping[str, Any]) -> dict[str, HParamValue]:
    hparams = {}
    for name, value in values.items():
        known = as_hparam_value(value)
        if known is not None:
            hparams[name] = known
    return hparams


# ---- the studies of a log

#: A file of such a name is reported if it is no study at all.
_STUDY_WORDS = ("optuna", "study", "studies")


@dataclass(frozen=True, slots=True)
class _Folder:
    """The files that one study, or one storage, is read from."""

    name: str
    files: tuple[StudyFile, ...]


class StudyFileReader:
    """Reads the studies in files. Not thread-safe."""

    def __init__(self, log: Source) -> None:
        self._log = log
        self._cached: dict[str, tuple[_Folder, StudyContents]] = {}

    def read(self, files: Iterable[StudyFile]) -> StudyContents:
        """Return all studies, with names that are paths, and messages about damaged files."""
        folders = _group_files(files)
        before, self._cached = self._cached, {}
        for folder in folders:
            cached = before.get(folder.name)
            contents = cached[1] if cached and cached[0] == folder else self._read_folder(folder)
            self._cached[folder.name] = folder, contents
        all_contents = [contents for _, contents in self._cached.values()]
        return StudyContents(
            tuple(study for contents in all_contents for study in contents.studies),
            tuple(problem for contents in all_contents for problem in contents.problems),
        )

    def _read_folder(self, folder: _Folder) -> StudyContents:
        name = os.path.basename(folder.files[0].path)
        if name in (KERAS_ORACLE, KERAS_TRIAL):
            return self._read_keras_tuner(folder)
        if name in (RAY_RESULT, RAY_PARAMS) or is_ray_state(name):
            return self._read_ray_tune(folder)
        return self._read_optuna(folder)

    def _read_optuna(self, folder: _Folder) -> StudyContents:
        (file,) = folder.files
        name = os.path.basename(file.path)
        read = read_optuna_database if is_database(name) else read_optuna_journal
        try:
            with self._log.fetch_study_file(file) as path:
                contents = read(path)
                is_empty = path.stat().st_size == 0
        except (FormatError, OSError) as error:
            return StudyContents(problems=(_describe_unreadable(folder.name, error),))
        if contents is None:
            has_study_name = any(word in name.lower() for word in _STUDY_WORDS)
            if is_empty or not has_study_name:
                return StudyContents()
            problem = Message("hparams.no_study", "it is no storage of Optuna")
            return StudyContents(problems=(_describe_unreadable(folder.name, problem),))
        studies = {f"{folder.name}/{study.name}": study for study in contents.studies}
        return StudyContents(
            tuple(replace(study, name=path) for path, study in studies.items()),
            tuple(_describe_unreadable(folder.name, item) for item in contents.problems),
        )

    def _read_keras_tuner(self, folder: _Folder) -> StudyContents:
        trials: list[StoredTrial] = []
        directions: dict[str, str] = {}
        objectives: list[list[str]] = []
        problems: list[Message] = []
        experiment = Experiment()
        for file in _list_named(folder, KERAS_TRIAL)[:MAX_TRIALS]:
            trial_name = os.path.basename(os.path.dirname(file.path))
            try:
                with self._log.fetch_study_file(file) as path:
                    trial, own, scored = read_keras_trial(trial_name, path)
            except (FormatError, OSError) as error:
                problems.append(_describe_unreadable(f"{file.run}/{KERAS_TRIAL}", error))
                continue
            trials.append(trial)
            directions |= own
            objectives.append(scored)
        with ExitStack() as stack:
            try:
                oracle = [
                    stack.enter_context(self._log.fetch_study_file(file))
                    for file in _list_named(folder, KERAS_ORACLE)
                ]
                experiment = make_keras_experiment(
                    oracle[0] if oracle else None, directions, objectives
                )
            except (FormatError, OSError) as error:
                problems.append(_describe_unreadable(f"{folder.name}/{KERAS_ORACLE}", error))
                experiment = make_keras_experiment(None, directions, objectives)
        return _make_contents(folder.name, experiment, trials, problems)

    def _read_ray_tune(self, folder: _Folder) -> StudyContents:
        trials: list[StoredTrial] = []
        problems: list[Message] = []
        statuses: dict[str, Status] = {}
        experiment = Experiment()
        states = [file for file in folder.files if is_ray_state(os.path.basename(file.path))]
        for file in sorted(states, key=lambda item: item.path)[-1:]:
            try:
                with self._log.fetch_study_file(file) as path:
                    statuses, experiment = read_ray_state(path)
            except (FormatError, OSError) as error:
                problems.append(_describe_unreadable(_get_display_path(file), error))
        params = {file.run: file for file in _list_named(folder, RAY_PARAMS)}
        for file in _list_named(folder, RAY_RESULT)[:MAX_TRIALS]:
            trial_name = os.path.basename(os.path.dirname(file.path))
            with ExitStack() as stack:
                try:
                    results = stack.enter_context(self._log.fetch_study_file(file))
                    settings: Path | None = None
                    if file.run in params:
                        settings = stack.enter_context(self._log.fetch_study_file(params[file.run]))
                    trial, damaged = read_ray_trial(trial_name, settings, results, statuses)
                except (FormatError, OSError) as error:
                    problems.append(_describe_unreadable(_get_display_path(file), error))
                    continue
            trials.append(trial)
            if damaged:
                skipped = Message.format(
                    "hparams.damaged_lines", "{count:,} damaged lines are skipped", count=damaged
                )
                problems.append(_describe_unreadable(_get_display_path(file), skipped))
        return _make_contents(folder.name, experiment, trials, problems)


def _make_contents(
    name: str, experiment: Experiment, trials: Sequence[StoredTrial], problems: Sequence[Message]
) -> StudyContents:
    study = StoredStudy(name, experiment, tuple(trials))
    return StudyContents((study,) if trials else (), tuple(problems))


def _group_files(files: Iterable[StudyFile]) -> list[_Folder]:
    """Group the files by study; each storage of Optuna is by itself."""
    groups: dict[str, list[StudyFile]] = defaultdict(list)
    for file in files:
        name = os.path.basename(file.path)
        if name in (KERAS_ORACLE,) or is_ray_state(name):
            groups[file.run].append(file)
        elif name in (KERAS_TRIAL, RAY_RESULT, RAY_PARAMS):
            groups[file.run.rpartition("/")[0] or ROOT].append(file)
        else:
            groups[_get_display_path(file)].append(file)
    return [
        _Folder(name, tuple(sorted(own, key=lambda item: natural_key(item.path))))
        for name, own in sorted(groups.items(), key=lambda item: natural_key(item[0]))
    ]


def _list_named(folder: _Folder, name: str) -> list[StudyFile]:
    return [file for file in folder.files if os.path.basename(file.path) == name]


def _get_display_path(file: StudyFile) -> str:
    """Return the path of a file as it is named on the page: by run, relative to the log."""
    folder = file.run.removesuffix(ROOT).rstrip("/")
    name = os.path.basename(file.path)
    return f"{folder}/{name}" if folder else name


def _describe_unreadable(path: str, error: FormatError | OSError | Message) -> Message:
    return Message.format(
        "hparams.unreadable_study",
        'Problem in the study file "{path}": {error}.',
        path=path,
        error=error,
    )
