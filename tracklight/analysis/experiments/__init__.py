"""Experiments: sessions with their hyperparameters and metrics, and what made the difference.

A session is one training with the hyperparameters it was given, read from HParams records, from
settings files such as ``hparams.yaml``, or from the studies of Optuna, Keras Tuner and Ray Tune.
(`tracklight.hparams` is the API that writes records.)

This module has studies: the sessions of a log that can be compared with each other. Sessions below
the same experiment declaration are a study; `tracklight.hparams.search` and ``hparams_config``
write one. All others are grouped by directory. What is the best value of a metric and what it
depends on is only meaningful within a study: two studies may search different spaces, and one may
minimize a metric that another one maximizes.

- `settings_files` parses settings files. `optuna_storage` and `study_files` read the studies of
  other programs, with the types and limits that are defined here, and `study_files` keeps those of
  a log. Files are untrusted input: nothing is unpickled. `sessions` finds the sessions of a log.
- `columns` turns hyperparameters and metrics into columns of a table; `session_store` keeps the
  table of a log up to date.
- `importance` computes how important each hyperparameter is.

Start with `session_store.SessionStore`. The package may import `formats`, `logdir`, `index` and
`tracklight.analysis.source`; nothing here knows about HTTP.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from itertools import islice
from typing import Any

from tracklight.errors import Message
from tracklight.formats.hparams import Experiment, HParamValue, Metric, Status
from tracklight.logdir import natural_key
from tracklight.logdir.discover import iter_ancestors

#: The study of sessions in the log directory itself.
ROOT = "."


@dataclass(frozen=True, slots=True)
class Study:
    """A study. ``name`` is the run that declares the experiment, or the common directory."""

    name: str
    label: str
    """The name of the experiment or the directory; empty for the log directory itself."""
    experiments: tuple[Experiment, ...]
    """The declarations that apply to its sessions."""


def get_declaring_run(session: str, declaring: Container[str]) -> str:
    """Return the nearest ancestor that declares an experiment, or an empty string.

    The session itself does not count: PyTorch declares an experiment in every session.
    """
    ancestors = islice(iter_ancestors(session), 1, None)
    return next((run for run in ancestors if run in declaring), "")


def assign_studies(sessions: Iterable[str], declaring: Container[str]) -> dict[str, str]:
    """Return the name of the study of each session.

    A directory with a single session is not a study; the session belongs to the directory above.

    Args:
        sessions: Names of sessions.
        declaring: Runs that declare an experiment.
    """
    studies: dict[str, str] = {}
    by_directory: dict[str, list[str]] = defaultdict(list)
    for session in sessions:
        studies[session] = get_declaring_run(session, declaring)
        if not studies[session]:
            by_directory[_get_parent(session)].append(session)
    # Deepest first, so that single sessions reach all directories above them.
    pending = {directory for name in by_directory for directory in _iter_directories(name)}
    for directory in sorted(pending, key=lambda name: -_get_depth(name)):
        own = by_directory.get(directory, [])
        if len(own) == 1 and directory != ROOT:
            by_directory[_get_parent(directory)].append(own[0])
        else:
            studies.update(dict.fromkeys(own, directory))
    return studies


def build_studies(
    assigned: Mapping[str, str], experiments: Mapping[str, Experiment]
) -> tuple[Study, ...]:
    """Return the studies in natural order.

    Declarations beside all sessions apply to every study without a declaration above it.

    Args:
        assigned: The study of each session.
        experiments: Experiments by the run that declares them.
    """
    own: dict[str, list[Experiment]] = {name: [] for name in assigned.values()}
    unrelated = []
    for run, experiment in sorted(experiments.items()):
        if run in own:
            own[run].append(experiment)
        elif run in assigned:
            own[assigned[run]].append(experiment)
        else:
            unrelated.append(experiment)
    for name, declared in own.items():
        if name not in experiments:
            declared.extend(unrelated)
    labels = {name: _make_label(name, experiments.get(name)) for name in own}
    counts = Counter(labels.values())
    return tuple(
        Study(
            name,
            labels[name] if counts[labels[name]] == 1 else _make_label(name, None),
            tuple(dict.fromkeys(own[name])),
        )
        for name in sorted(own, key=natural_key)
    )


def add_studies(
    studies: Iterable[Study], stored: Iterable[tuple[str, Experiment]]
) -> tuple[Study, ...]:
    """Return studies in natural order with those of study files, given by name and declaration.

    The sessions of a directory and of a study file with the same name are one study.
    """
    by_name = {study.name: study for study in studies}
    labels = Counter(study.label for study in by_name.values())
    added = dict(stored)
    labels.update(experiment.name for experiment in added.values())
    for name, experiment in added.items():
        known = by_name.get(name)
        if known is not None:
            by_name[name] = replace(known, experiments=(*known.experiments, experiment))
        else:
            is_unique = labels[experiment.name] == 1
            label = _make_label(name, experiment if is_unique else None)
            by_name[name] = Study(name, label, (experiment,))
    return tuple(by_name[name] for name in sorted(by_name, key=natural_key))


def _make_label(name: str, experiment: Experiment | None) -> str:
    if experiment is not None and experiment.name:
        return experiment.name
    return name.removesuffix("/.") if name != ROOT else ""


def _get_parent(name: str) -> str:
    return name.rpartition("/")[0] or ROOT


def _get_depth(name: str) -> int:
    return 0 if name == ROOT else name.count("/") + 1


def _iter_directories(name: str) -> Iterable[str]:
    """Yield a directory and all directories above it."""
    while name != ROOT:
        yield name
        name = _get_parent(name)
    yield ROOT


# ---- trials in files

#: Further trials of a study, and further values of all its trials, are not read.
MAX_TRIALS = 200_000
MAX_VALUES = 10_000_000

_MAX_TEXT_CHARS = 500

#: Steps and values of a metric, in the order of their steps.
Points = tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class StoredTrial:
    """One trial. ``curves`` has the reported values of each metric; the last is the result."""

    name: str
    hparams: Mapping[str, HParamValue]
    status: Status = Status.UNKNOWN
    start_time: float | None = None
    end_time: float | None = None
    curves: Mapping[str, Points] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StoredStudy:
    """A study: its name in the file, what it optimizes, and its trials."""

    name: str
    experiment: Experiment
    trials: tuple[StoredTrial, ...]


@dataclass(frozen=True, slots=True)
class StudyContents:
    """The studies of a file, and a message about each part of it that cannot be read."""

    studies: tuple[StoredStudy, ...] = ()
    problems: tuple[Message, ...] = ()


def as_hparam_value(value: Any) -> HParamValue | None:
    """Return a value of JSON as a hyperparameter; None for null. Long texts are shortened.

    Collections that are nested too deeply are None as well.
    """
    if value is None or isinstance(value, (bool, float)):
        return value
    if isinstance(value, int):
        try:
            return float(value)
        except OverflowError:
            return str(value)[:_MAX_TEXT_CHARS]
    try:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return None
    return text if len(text) <= _MAX_TEXT_CHARS else f"{text[:_MAX_TEXT_CHARS]}…"


def find_number(value: Any) -> float | None:
    """Return a number of JSON as a float; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def find_step(value: Any) -> int | None:
    """Return a number, or the text of one, as a step; None for anything else."""
    try:
        step = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return step if abs(step) < 1 << 53 else None


def find_time(value: Any, zone: timezone | None = None) -> float | None:
    """Return an ISO date as seconds since 1970; None for anything else.

    Args:
        value: The date.
        zone: The zone of dates without one; None for local time.
    """
    try:
        date = datetime.fromisoformat(value)
        return (date if date.tzinfo or zone is None else date.replace(tzinfo=zone)).timestamp()
    except (TypeError, ValueError, OverflowError, OSError):
        return None


def make_objective(tag: str, goal: str | None) -> Metric:
    """Return the declaration of an objective; ``goal`` is ``minimize``, ``maximize`` or None."""
    if goal is None:
        return Metric(tag)
    return Metric(tag, description=f"An objective of the study ({goal}).")


def shorten_name(value: Any) -> str:
    """Return the name of a study, a trial or a metric as text of limited length."""
    return str(value)[:_MAX_TEXT_CHARS]
