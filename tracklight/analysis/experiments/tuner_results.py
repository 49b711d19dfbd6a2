"""Read the result folders of Keras Tuner and Ray Tune.

Keras Tuner writes ``<project>/oracle.json`` and ``<project>/trial_<id>/trial.json``. Ray Tune
writes ``<experiment>/<trial>/params.json`` and ``result.json``, which has one report per line, and
``<experiment>/experiment_state-<time>.json`` with the status of each trial.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tracklight.analysis.experiments.settings_files import parse_settings
from tracklight.analysis.experiments.stored_trials import (
    StoredTrial,
    as_hparam_value,
    find_number,
    find_step,
    make_objective,
    shorten_name,
)
from tracklight.errors import FormatError
from tracklight.formats.hparams import (
    Experiment,
    HParam,
    HParamValue,
    Interval,
    Status,
    iter_flattened,
)

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


def read_keras_trial(name: str, path: Path) -> tuple[StoredTrial, dict[str, str], str | None]:
    """Read a ``trial.json``.

    Returns:
        The trial, the direction of each metric (``min`` or ``max``), and the metric that the score
        of the trial is of, None if it has none.

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
    objective = None
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
                objective = objective or str(tag)
    trial = StoredTrial(
        name=name,
        hparams=_make_hparams(values),
        status=_KERAS_STATUSES.get(str(content.get("status")), Status.UNKNOWN),
        curves=curves,
    )
    return trial, directions, objective


def make_keras_experiment(
    path: Path | None, directions: Mapping[str, str], objectives: Iterable[str | None]
) -> Experiment:
    """Return what a search of Keras Tuner optimizes, and its hyperparameters.

    Args:
        path: The file ``oracle.json``, whose search space is optional; None if there is none.
        directions: The direction of each metric.
        objectives: For each trial, the metric that its score is of.

    Raises:
        FormatError: The file is not JSON.
        OSError: The file cannot be read.
    """
    counts = Counter(tag for tag in objectives if tag is not None)
    tags = [tag for tag, _ in counts.most_common(1)]
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


def read_ray_statuses(path: Path) -> dict[str, Status]:
    """Return the status of each trial id from an ``experiment_state-*.json``.

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
                state = json.loads(state)
            except (ValueError, RecursionError):
                continue
        if isinstance(state, dict) and "trial_id" in state:
            status = _RAY_STATUSES.get(str(state.get("status")), Status.UNKNOWN)
            statuses[str(state["trial_id"])] = status
    return statuses


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
            report = _load_json(line)
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
        content = json.loads(_read_bytes(path))
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


def _load_json(line: bytes) -> Any:
    try:
        return json.loads(line)
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
