"""What is known of one session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from tracklight.formats.hparam_names import HParamValue
from tracklight.formats.hparams import Status


class Origin(IntEnum):
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
    origin: Origin = Origin.RECORD
    status: Status = Status.UNKNOWN
    start_wall: float | None = None
    end_wall: float | None = None
    model_uri: str = ""
    monitor_url: str = ""
    experiment: str = ""
    """The run above that says what is varied; empty where none does."""
