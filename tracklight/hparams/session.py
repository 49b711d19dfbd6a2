"""Describe hyperparameters, their domains and metrics, and log those of a run.

TensorBoard calls a run with hyperparameters and an outcome a session.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import json
import os
import random
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tracklight.formats import hparams as hparams_format
from tracklight.formats.hparams import HParamValue, Status, iter_flattened
from tracklight.formats.proto import Message
from tracklight.writer import warnings
from tracklight.writer.event_writer import EventWriter
from tracklight.writer.warnings import ArgumentError, warn_or_raise

# ---- hyperparameters and metrics


class Domain:
    """The values that a hyperparameter can take."""

    @property
    def dtype(self) -> type:
        raise NotImplementedError

    def sample_uniform(self, rng: Any = random) -> Any:
        """Return a random value; all are equally likely."""
        raise NotImplementedError


class _Interval(Domain):
    min_value: float
    max_value: float

    def _check(self) -> None:
        for argument, value in vars(self).items():
            if isinstance(value, bool) or not isinstance(value, (int, self.dtype)):
                raise warnings.ArgumentError(
                    argument, f"must be a {self.dtype.__name__}, not {value!r}"
                )
        if self.min_value > self.max_value:
            raise warnings.ArgumentError(
                "min_value", f"{self.min_value} is greater than max_value, {self.max_value}"
            )


@dataclass(frozen=True)
class IntInterval(_Interval):
    """All integers from ``min_value`` to ``max_value``, inclusive."""

    min_value: int
    max_value: int

    def __post_init__(self) -> None:
        self._check()

    @property
    def dtype(self) -> type:
        return int

    def sample_uniform(self, rng: Any = random) -> int:
        return int(rng.randint(self.min_value, self.max_value))


@dataclass(frozen=True)
class RealInterval(_Interval):
    """All numbers from ``min_value`` to ``max_value``, inclusive."""

    min_value: float
    max_value: float

    def __post_init__(self) -> None:
        self._check()

    @property
    def dtype(self) -> type:
        return float

    def sample_uniform(self, rng: Any = random) -> float:
        return float(rng.uniform(self.min_value, self.max_value))


class Discrete(Domain):
    """A sorted list of values of one type.

    Args:
        values: The values.
        dtype: Their type: int, float, bool or str. Required if there are no values.

    Raises:
        ArgumentError: A value is of another type.

    Example:
        >>> tracklight.hparams.HParam("optimizer", tracklight.hparams.Discrete(["adam", "sgd"]))
        HParam(name='optimizer', domain=Discrete(['adam', 'sgd']), ...)
    """

    def __init__(self, values: Iterable[Any], dtype: type | None = None) -> None:
        items = list(values)
        if dtype is None and not items:
            raise warnings.ArgumentError("dtype", "is required if there are no values")
        self._dtype = type(items[0]) if dtype is None else dtype
        if self._dtype not in (int, float, bool, str):
            name = self._dtype.__name__
            raise warnings.ArgumentError("dtype", f"must be int, float, bool or str, not {name}")
        for value in items:
            if not isinstance(value, self._dtype):
                raise warnings.ArgumentError(
                    "values", f"must all be of type {self._dtype.__name__}, not {value!r}"
                )
        self.values: list[Any] = sorted(items)

    @property
    def dtype(self) -> type:
        return self._dtype

    def sample_uniform(self, rng: Any = random) -> Any:
        return rng.choice(self.values)

    def __repr__(self) -> str:
        return f"Discrete({self.values!r})"


@dataclass(frozen=True)
class HParam:
    """A hyperparameter. Can be used instead of its name as a key of the dict passed to `hparams`.

    Args:
        name: Its name.
        domain: The values that it can take.
        display_name: Name for display.
        description: Description in Markdown.
    """

    name: str
    domain: Domain | None = None
    display_name: str | None = None
    description: str | None = None


@dataclass(frozen=True)
class Metric:
    """A scalar by which runs are compared.

    Args:
        tag: Tag of the scalar.
        group: Subdirectory of the run that contains it.
        display_name: Name for display.
        description: Description in Markdown.
        dataset_type: ``Metric.TRAINING`` or ``Metric.VALIDATION``.
    """

    TRAINING: ClassVar[int] = 1
    VALIDATION: ClassVar[int] = 2

    tag: str
    group: str | None = None
    display_name: str | None = None
    description: str | None = None
    dataset_type: int | None = None


def to_proto_domain(domain: Domain | None) -> Any:
    """Convert a domain to the form that `tracklight.formats.hparams` stores."""
    from tracklight.formats.hparams import Interval

    if isinstance(domain, _Interval):
        return Interval(domain.min_value, domain.max_value)
    return domain.values if isinstance(domain, Discrete) else None


# ---- sessions


def log_hparams(
    writer: EventWriter,
    hparams: Mapping[str, Any] | Mapping[str | HParam, Any],
    trial_id: str | None = None,
    start_time_secs: float | None = None,
) -> bool:
    """Log the hyperparameters of a run to a writer; see `tracklight.hparams.hparams`."""
    with warnings.catch_errors("hparams", strict=writer.strict):
        named = [
            (key.name if isinstance(key, HParam) else str(key), value)
            for key, value in hparams.items()
        ]
        flat = [pair for name, value in named for pair in iter_flattened({name: value})]
        _check_unique([name for name, _ in flat])
        values = {name: as_hparam_value(name, value) for name, value in flat}
        start = hparams_format.build_session_start(
            values,
            group_name=compute_trial_id(values) if trial_id is None else trial_id,
            wall_time=time.time() if start_time_secs is None else start_time_secs,
        )
        return writer.add([start], 0)
    return False


def log_session_end(writer: EventWriter, status: Status) -> bool:
    """Log that a run has ended now, and whether it succeeded."""
    return writer.add([hparams_format.build_session_end(status, wall_time=time.time())], 0)


def build_experiment(
    hparams: Sequence[HParam], metrics: Sequence[Metric], created_wall_time: float
) -> Message:
    """Build the value that `tracklight.hparams.hparams_config` logs."""
    return hparams_format.build_experiment(
        [
            hparams_format.HParam(
                hparam.name,
                to_proto_domain(hparam.domain),
                hparam.display_name or "",
                hparam.description or "",
            )
            for hparam in hparams
        ],
        [
            hparams_format.Metric(
                metric.tag,
                metric.group or "",
                metric.display_name or "",
                metric.description or "",
                hparams_format.DatasetType(metric.dataset_type or 0),
            )
            for metric in metrics
        ],
        created_wall_time=created_wall_time,
    )


def compute_trial_id(values: Mapping[str, HParamValue]) -> str:
    """Return a hash of the values that does not depend on their order, as TensorBoard does."""
    text = json.dumps(dict(values), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def as_hparam_value(name: str, value: Any) -> HParamValue:
    """Return a bool, a number or a string; other values are converted to str with a warning."""
    if isinstance(value, (bool, int, float, str)):
        return value
    if getattr(value, "ndim", None) == 0 or getattr(value, "shape", None) == (1,):
        item = value.item()
        if isinstance(item, (bool, int, float, str)):
            return item
    type_name = type(value).__name__
    warn_or_raise("hparams", f'contains "{name}" of type {type_name}, which was logged as a string')
    return str(value)


def _check_unique(names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ArgumentError("hparams", f'contains "{name}" twice')


@functools.cache
def create_keras_callback_class() -> type:
    """Return the class `KerasCallback` for the Keras that the program uses."""
    uses_tf_keras = "tf_keras" in sys.modules and "keras" not in sys.modules
    keras: Any = importlib.import_module("tf_keras" if uses_tf_keras else "keras")
    base: Any = keras.callbacks.Callback

    class KerasCallback(base):  # type: ignore[misc]
        """Log hyperparameters when the training of a Keras model begins, and when it has ended.

        Args:
            writer: A writer, or a directory in which an event file is created.
            hparams: Values by name or `HParam`.
            trial_id: Runs with the same id are shown as one trial.
        """

        def __init__(
            self,
            writer: str | os.PathLike[str] | EventWriter,
            hparams: Mapping[str | HParam, Any],
            trial_id: str | None = None,
        ) -> None:
            super().__init__()
            self._target = writer
            self._hparams = dict(hparams)
            self._trial_id = trial_id
            self._writer: EventWriter | None = None

        def on_train_begin(self, logs: Any = None) -> None:
            target = self._target
            self._writer = target if isinstance(target, EventWriter) else EventWriter(target)
            log_hparams(self._writer, self._hparams, self._trial_id)

        def on_train_end(self, logs: Any = None) -> None:
            if self._writer is None:
                return
            log_session_end(self._writer, Status.SUCCESS)
            if self._writer is self._target:
                self._writer.flush()
            else:
                self._writer.close()
            self._writer = None

    return KerasCallback
