"""Hyperparameters of a run, and how it ended."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from typing import Any

from tracklight.formats import hparams
from tracklight.formats.hparam_names import HParamValue
from tracklight.formats.hparams import Status
from tracklight.sdk.lenient import Misuse, complain
from tracklight.sdk.writer import EventWriter


def log_session_start(
    writer: EventWriter,
    values: Mapping[str, HParamValue],
    trial_id: str | None = None,
    start_wall_time: float | None = None,
) -> bool:
    """Log what is different about this run. Runs of one trial are shown as one."""
    wall_time = time.time() if start_wall_time is None else start_wall_time
    group = make_trial_id(values) if trial_id is None else trial_id
    return writer.add([hparams.session_start(values, group_name=group, wall_time=wall_time)], 0)


def log_session_end(writer: EventWriter, status: Status) -> bool:
    """Log how a run ended, and when."""
    return writer.add([hparams.session_end(status, wall_time=time.time())], 0)


def make_trial_id(values: Mapping[str, HParamValue]) -> str:
    """The same for the same values, whatever their order, and the same as TensorBoard's."""
    text = json.dumps(dict(values), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def as_hparam_value(name: str, value: Any) -> HParamValue:
    """A bool, a number or a text; of anything else a text, with a complaint."""
    if isinstance(value, (bool, int, float, str)):
        return value
    if getattr(value, "ndim", None) == 0 or getattr(value, "shape", None) == (1,):
        item = value.item()
        if isinstance(item, (bool, int, float, str)):
            return item
    kind = type(value).__name__
    complain("hparams", f'has a {kind} as "{name}"; it was logged as the text of it')
    return str(value)


def check_unique(names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise Misuse("hparams", f'has "{name}" twice')
