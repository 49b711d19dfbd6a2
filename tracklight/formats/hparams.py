"""Hyperparameters: the three values that describe an experiment and its sessions.

* ``_hparams_/experiment``: which hyperparameters vary and which metrics are compared. Logged once,
  in the parent run of the sessions.
* ``_hparams_/session_start_info``: the hyperparameters of a run.
* ``_hparams_/session_end_info``: how the run ended.

Their content is in the metadata of the values (`HParamsPluginData`); the tensors are empty.

`tracklight.run` logs two more values of this form, whose content is JSON:

* ``_run_/start``: the program and the machine (`RunStart`).
* ``_run_/end``: how the program ended (`RunEnd`).
"""

from __future__ import annotations

import functools
import json
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import IntEnum
from typing import Any, NamedTuple, TypeVar

import numpy as np

from tracklight.errors import FormatError, UsageError
from tracklight.formats import proto
from tracklight.formats.proto import Message, decode_text
from tracklight.formats.summary import make_metadata, tensor

EXPERIMENT_TAG = "_hparams_/experiment"
SESSION_START_TAG = "_hparams_/session_start_info"
SESSION_END_TAG = "_hparams_/session_end_info"
RUN_START_TAG = "_run_/start"
RUN_END_TAG = "_run_/end"
RUN_PLUGIN = "tracklight_run"

HParamValue = bool | int | float | str
RecordT = TypeVar("RecordT", "RunStart", "RunEnd")

#: Separates the names of nested hyperparameters, as in Lightning: ``optimizer/lr``.
NAME_SEPARATOR = "/"

_MAX_NESTED_DICTS = 20


class HParamType(IntEnum):
    """``HParamInfo.type``. Integers are FLOAT64 too."""

    UNSET = 0
    STRING = 1
    BOOL = 2
    FLOAT64 = 3


class DatasetType(IntEnum):
    """``MetricInfo.dataset_type``."""

    UNKNOWN = 0
    TRAINING = 1
    VALIDATION = 2


class Status(IntEnum):
    """``SessionEndInfo.status``; PRUNED and INFEASIBLE are fields of their own in the protocol."""

    UNKNOWN = 0
    SUCCESS = 1
    FAILURE = 2
    RUNNING = 3
    PRUNED = 4
    INFEASIBLE = 5
    """It ended with a result that violates a constraint of the search."""


#: TensorBoard hides sessions with a status that it does not know, so these are a success there.
_OWN_STATUSES = {Status.PRUNED, Status.INFEASIBLE}


class Interval(NamedTuple):
    """A closed range of numbers."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class HParam:
    """A hyperparameter of an experiment; ``domain`` is None if its values are not restricted."""

    name: str
    domain: Interval | Sequence[HParamValue] | None = None
    display_name: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class Metric:
    """A scalar to compare sessions by: ``tag`` in the run ``<session>/<group>``."""

    tag: str
    group: str = ""
    display_name: str = ""
    description: str = ""
    dataset: DatasetType = DatasetType.UNKNOWN


def iter_flattened(values: Mapping[Any, Any], depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield the leaves of nested mappings and namespaces, with names such as ``optimizer/lr``.

    Leaves that are nested more than 20 levels deep are left out.

    Example:
        >>> dict(iter_flattened({"optimizer": {"name": "adam", "lr": 0.1}}))
        {'optimizer/name': 'adam', 'optimizer/lr': 0.1}
    """
    for key, value in values.items():
        if isinstance(value, Namespace):
            value = vars(value)
        if not isinstance(value, Mapping):
            yield str(key), value
        elif depth < _MAX_NESTED_DICTS:
            for name, leaf in iter_flattened(value, depth + 1):
                yield f"{key}{NAME_SEPARATOR}{name}", leaf


def build_experiment(
    hparams: Sequence[HParam],
    metrics: Sequence[Metric],
    *,
    name: str = "",
    description: str = "",
    user: str = "",
    created_wall_time: float = 0.0,
) -> Message:
    """Build the value that declares the hyperparameters and metrics of an experiment."""
    message = proto.Experiment(
        name=name.encode(),
        description=description.encode(),
        user=user.encode(),
        time_created_secs=created_wall_time,
        hparam_infos=[_build_hparam(hparam) for hparam in hparams],
        metric_infos=[_build_metric(metric) for metric in metrics],
    )
    return _build_value(EXPERIMENT_TAG, proto.HParamsPluginData(experiment=message))


def build_session_start(
    hparams: Mapping[str, HParamValue], *, group_name: str = "", wall_time: float = 0.0
) -> Message:
    """Build the value that holds the hyperparameters of a run.

    Args:
        hparams: Values by name.
        group_name: Runs with the same group name are repetitions with the same hyperparameters.
        wall_time: The start of the run, in seconds since the epoch.

    Raises:
        UsageError: A value is not a bool, a number or a str.
    """
    message = proto.SessionStartInfo(
        hparams=[
            proto.HParam(key=name.encode(), value=_build_hparam_value(value))
            for name, value in hparams.items()
        ],
        group_name=group_name.encode(),
        start_time_secs=wall_time,
    )
    return _build_value(SESSION_START_TAG, proto.HParamsPluginData(session_start_info=message))


def build_session_end(status: Status, *, wall_time: float = 0.0) -> Message:
    """Build the value that says how a run ended."""
    message = proto.SessionEndInfo(
        status=Status.SUCCESS if status in _OWN_STATUSES else status,
        end_time_secs=wall_time,
        pruned=status is Status.PRUNED,
        infeasible=status is Status.INFEASIBLE,
    )
    return _build_value(SESSION_END_TAG, proto.HParamsPluginData(session_end_info=message))


@dataclass(frozen=True, slots=True)
class RunStart:
    """The program that logs a run, and its machine. Texts are empty if they are unknown."""

    command: str = ""
    directory: str = ""
    host: str = ""
    user: str = ""
    git_commit: str = ""
    """With a plus if tracked files differed from the commit."""
    platform: str = ""
    python: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Versions of imported packages."""
    pid: int = 0
    pid_namespace: str = ""
    """Identifies the set of processes that ``pid`` belongs to; see `get_pid_namespace`."""
    wall_time: float = 0.0


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How a program ended. ``error`` is the last line of the traceback, empty without one."""

    failed: bool = False
    error: str = ""
    wall_time: float = 0.0


def build_run_start(start: RunStart) -> Message:
    """Build the value that describes the program of a run."""
    return _build_run_value(RUN_START_TAG, start)


def build_run_end(end: RunEnd) -> Message:
    """Build the value that says how the program of a run ended."""
    return _build_run_value(RUN_END_TAG, end)


def parse_run_start(content: bytes) -> RunStart | None:
    """Parse the metadata of RUN_START_TAG; None if it is invalid."""
    return _parse_run_value(content, RunStart)


def parse_run_end(content: bytes) -> RunEnd | None:
    """Parse the metadata of RUN_END_TAG; None if it is invalid."""
    return _parse_run_value(content, RunEnd)


def _build_run_value(tag: str, record: RunStart | RunEnd) -> Message:
    metadata = make_metadata(RUN_PLUGIN)
    metadata.plugin_data.content = json.dumps(asdict(record), separators=(",", ":")).encode()
    return tensor(tag, np.zeros(0, np.float32), metadata)


def _parse_run_value(content: bytes, record_type: type[RecordT]) -> RecordT | None:
    import msgspec  # not needed to log

    try:
        return msgspec.json.decode(content, type=record_type)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


@dataclass(frozen=True, slots=True)
class Experiment:
    """The hyperparameters and metrics that were declared."""

    hparams: tuple[HParam, ...] = ()
    metrics: tuple[Metric, ...] = ()
    name: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class SessionStart:
    """The hyperparameters of a run; ``wall_time`` is 0 if it was not logged."""

    hparams: Mapping[str, HParamValue]
    group_name: str = ""
    wall_time: float = 0.0
    model_uri: str = ""
    monitor_url: str = ""


@dataclass(frozen=True, slots=True)
class SessionEnd:
    """How a run ended; ``wall_time`` is 0 if it was not logged."""

    status: Status = Status.UNKNOWN
    wall_time: float = 0.0


def parse_session_hparams(content: bytes) -> dict[str, HParamValue]:
    """Return the hyperparameters in the metadata of SESSION_START_TAG; empty if it is invalid."""
    start = parse_session_start_info(content)
    return {} if start is None else dict(start.hparams)


def parse_session_start_info(content: bytes) -> SessionStart | None:
    """Parse the metadata of SESSION_START_TAG; None if it is invalid."""
    message = _find_content("session_start_info", content)
    if message is None:
        return None
    pairs = [(_decode_name(h.key), _parse_hparam_value(h.value)) for h in message.hparams]
    return SessionStart(
        {name: value for name, value in pairs if value is not None},
        decode_text(message.group_name),
        message.start_time_secs,
        decode_text(message.model_uri),
        decode_text(message.monitor_url),
    )


def parse_session_end_info(content: bytes) -> SessionEnd | None:
    """Parse the metadata of SESSION_END_TAG; None if it is invalid."""
    message = _find_content("session_end_info", content)
    if message is None:
        return None
    known = message.status in Status.__members__.values() and message.status not in _OWN_STATUSES
    status = Status(message.status) if known else Status.UNKNOWN
    if message.pruned or message.infeasible:
        status = Status.PRUNED if message.pruned else Status.INFEASIBLE
    return SessionEnd(status, message.end_time_secs)


def parse_experiment(content: bytes) -> Experiment | None:
    """Parse the metadata of EXPERIMENT_TAG; None if it is invalid."""
    message = _find_content("experiment", content)
    if message is None:
        return None
    return Experiment(
        tuple(map(_parse_hparam, message.hparam_infos)),
        tuple(map(_parse_metric, message.metric_infos)),
        decode_text(message.name),
        decode_text(message.description),
    )


def _find_content(field: str, content: bytes) -> Message | None:
    try:
        message = proto.parse("HParamsPluginData", content)
    except FormatError:
        return None
    return getattr(message, field) if message.WhichOneof("data") == field else None


def _parse_hparam(info: Message) -> HParam:
    domain: Interval | Sequence[HParamValue] | None = None
    if info.WhichOneof("domain") == "domain_interval":
        domain = Interval(info.domain_interval.min_value, info.domain_interval.max_value)
    elif info.WhichOneof("domain") == "domain_discrete":
        values = map(_parse_hparam_value, info.domain_discrete.values)
        domain = tuple(value for value in values if value is not None)
    texts = (decode_text(info.display_name), decode_text(info.description))
    return HParam(decode_text(info.name), domain, *texts)


def _parse_metric(info: Message) -> Metric:
    known = info.dataset_type in DatasetType.__members__.values()
    return Metric(
        decode_text(info.name.tag),
        decode_text(info.name.group),
        decode_text(info.display_name),
        decode_text(info.description),
        DatasetType(info.dataset_type) if known else DatasetType.UNKNOWN,
    )


def _build_value(tag: str, content: Message) -> Message:
    """Put the content into the metadata of an empty tensor, which some readers require."""
    return tensor(tag, np.zeros(0, np.float32), make_metadata("hparams", content))


def _build_hparam(hparam: HParam) -> Message:
    info = proto.HParamInfo(
        name=hparam.name.encode(),
        display_name=hparam.display_name.encode(),
        description=hparam.description.encode(),
    )
    if hparam.domain is None:
        return info
    if isinstance(hparam.domain, Interval):
        info.type = HParamType.FLOAT64
        info.domain_interval.min_value, info.domain_interval.max_value = hparam.domain
        return info
    types = {_get_hparam_type(value) for value in hparam.domain}
    info.type = types.pop() if len(types) == 1 else HParamType.UNSET
    info.domain_discrete.values.extend(map(_build_hparam_value, hparam.domain))
    return info


def _build_metric(metric: Metric) -> Message:
    return proto.MetricInfo(
        name=proto.MetricName(group=metric.group.encode(), tag=metric.tag.encode()),
        display_name=metric.display_name.encode(),
        description=metric.description.encode(),
        dataset_type=metric.dataset,
    )


def _get_hparam_type(value: HParamValue) -> HParamType:
    if isinstance(value, (bool, np.bool_)):
        return HParamType.BOOL
    if isinstance(value, str):
        return HParamType.STRING
    if isinstance(value, (int, float, np.integer, np.floating)):
        return HParamType.FLOAT64
    raise UsageError(f"a hyperparameter cannot be a {type(value).__name__}; convert it to a str")


def _build_hparam_value(value: HParamValue) -> Message:
    kind = _get_hparam_type(value)
    if kind is HParamType.BOOL:
        return proto.HParamValue(bool_value=bool(value))
    if kind is HParamType.STRING:
        return proto.HParamValue(string_value=str(value).encode())
    return proto.HParamValue(number_value=float(value))


#: Cached, because thousands of sessions have the same few names.
_decode_name = functools.lru_cache(10_000)(decode_text)


def _parse_hparam_value(value: Message) -> HParamValue | None:
    kind = value.WhichOneof("kind")
    if kind == "number_value":
        number: float = value.number_value
        return number
    if kind == "string_value":
        return decode_text(value.string_value)
    if kind == "list_value":
        return ", ".join(str(_parse_hparam_value(item)) for item in value.list_value.values)
    if kind in (None, "null_value"):
        return None
    other: bool | float = getattr(value, kind)
    return other
