"""Trials of studies that other programs keep in files: the common types and limits.

`optuna_storage` and `tuner_results` read such files, `study_files` finds out what a file is. All of
them are untrusted input: nothing is unpickled, and sizes are limited.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from tracklight.errors import Message
from tracklight.formats.hparams import Experiment, HParamValue, Metric, Status

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
    """Return a value of JSON as a hyperparameter; None for null. Long texts are shortened."""
    if value is None or isinstance(value, (bool, float)):
        return value
    if isinstance(value, int):
        try:
            return float(value)
        except OverflowError:
            return str(value)[:_MAX_TEXT_CHARS]
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
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
