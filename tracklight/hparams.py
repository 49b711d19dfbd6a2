"""Logs hyperparameters, with the words of ``tensorboard.plugins.hparams.api``.

    with tracklight.summary.create_file_writer("logs/run1").as_default():
        tracklight.hparams.hparams({"lr": 0.1, "optimizer": "adam"})

Which values a hyperparameter may take and which metrics are to be compared can be said once, in the
folder above the runs, by `hparams_config`.
"""

from __future__ import annotations

import functools
import importlib
import os
import random
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from tracklight.sdk import lenient
from tracklight.sdk.state import find_active_writer
from tracklight.sdk.writer import EventWriter

if TYPE_CHECKING:
    from tracklight.formats.proto import Message

    KerasCallback: Any

__all__ = [
    "Discrete",
    "HParam",
    "IntInterval",
    "KerasCallback",
    "Metric",
    "RealInterval",
    "hparams",
    "hparams_config",
]


class Domain:
    """The values that a hyperparameter may take."""

    @property
    def dtype(self) -> type:
        raise NotImplementedError

    def sample_uniform(self, rng: Any = random) -> Any:
        """Any one of them, each as likely as the others."""
        raise NotImplementedError


class _Interval(Domain):
    min_value: float
    max_value: float

    def _check(self) -> None:
        for argument, value in vars(self).items():
            if isinstance(value, bool) or not isinstance(value, (int, self.dtype)):
                raise lenient.Misuse(argument, f"must be a {self.dtype.__name__}, not {value!r}")
        if self.min_value > self.max_value:
            raise lenient.Misuse("min_value", f"{self.min_value} is above {self.max_value}")


@dataclass(frozen=True)
class IntInterval(_Interval):
    """All whole numbers between two, both included."""

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
    """All numbers between two, both included."""

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
    """Some values of one type, ``dtype``, kept in order; without any, ``dtype`` must be given."""

    def __init__(self, values: Iterable[Any], dtype: type | None = None) -> None:
        given = list(values)
        if dtype is None and not given:
            raise lenient.Misuse("dtype", "must be given where there are no values")
        self._dtype = type(given[0]) if dtype is None else dtype
        if self._dtype not in (int, float, bool, str):
            name = self._dtype.__name__
            raise lenient.Misuse("dtype", f"must be int, float, bool or str, not {name}")
        for value in given:
            if not isinstance(value, self._dtype):
                raise lenient.Misuse("values", f"must all be {self._dtype.__name__}: {value!r}")
        self.values: list[Any] = sorted(given)

    @property
    def dtype(self) -> type:
        return self._dtype

    def sample_uniform(self, rng: Any = random) -> Any:
        return rng.choice(self.values)

    def __repr__(self) -> str:
        return f"Discrete({self.values!r})"


@dataclass(frozen=True)
class HParam:
    """A hyperparameter; as a key of the dict that is given to `hparams`, it stands for its name."""

    name: str
    domain: Domain | None = None
    display_name: str | None = None
    description: str | None = None


@dataclass(frozen=True)
class Metric:
    """A scalar by which runs are compared: ``tag`` in the run ``<run>/<group>``."""

    TRAINING: ClassVar[int] = 1
    VALIDATION: ClassVar[int] = 2

    tag: str
    group: str | None = None
    display_name: str | None = None
    description: str | None = None
    dataset_type: int | None = None


def hparams(
    hparams: Mapping[str | HParam, Any],
    trial_id: str | None = None,
    start_time_secs: float | None = None,
) -> bool:
    """Log the hyperparameters of this run to the default writer.

    Runs of one ``trial_id`` are shown as one; by default those are of one trial whose
    hyperparameters are the same.
    """
    writer = find_active_writer()
    return writer is not None and _log_start(writer, hparams, trial_id, start_time_secs)


def hparams_config(
    hparams: Sequence[HParam], metrics: Sequence[Metric], time_created_secs: float | None = None
) -> bool:
    """Log which hyperparameters and metrics there are, once, in the folder above the runs."""
    writer = find_active_writer()
    if writer is None:
        return False
    with lenient.guard("hparams_config", strict=writer.strict):
        return writer.add([_build_experiment(hparams, metrics, time_created_secs or 0.0)], 0)
    return False


def _log_start(
    writer: EventWriter,
    hparams: Mapping[str | HParam, Any],
    trial_id: str | None = None,
    start_time_secs: float | None = None,
) -> bool:
    from tracklight.sdk import sessions

    with lenient.guard("hparams", strict=writer.strict):
        names = [key.name if isinstance(key, HParam) else str(key) for key in hparams]
        sessions.check_unique(names)
        values = {
            name: sessions.as_hparam_value(name, value)
            for name, value in zip(names, hparams.values(), strict=True)
        }
        return sessions.log_session_start(writer, values, trial_id, start_time_secs)
    return False


def _build_experiment(
    hparams: Sequence[HParam], metrics: Sequence[Metric], created_wall_time: float
) -> Message:
    from tracklight.formats import hparams as formats

    return formats.experiment(
        [
            formats.HParam(
                hparam.name,
                _as_stored_domain(hparam.domain),
                hparam.display_name or "",
                hparam.description or "",
            )
            for hparam in hparams
        ],
        [
            formats.Metric(
                metric.tag,
                metric.group or "",
                metric.display_name or "",
                metric.description or "",
                formats.Dataset(metric.dataset_type or 0),
            )
            for metric in metrics
        ],
        created_wall_time=created_wall_time,
    )


def _as_stored_domain(domain: Domain | None) -> Any:
    from tracklight.formats.hparams import Interval

    if isinstance(domain, _Interval):
        return Interval(domain.min_value, domain.max_value)
    return domain.values if isinstance(domain, Discrete) else None


def __getattr__(name: str) -> Any:
    # A class needs its base when it is made, and Keras takes seconds to import.
    if name != "KerasCallback":
        raise AttributeError(f"module 'tracklight.hparams' has no attribute {name!r}")
    return _make_keras_callback()


@functools.cache
def _make_keras_callback() -> type:
    """The callback, for the Keras that the program uses."""
    only_old = "tf_keras" in sys.modules and "keras" not in sys.modules
    base: Any = importlib.import_module("tf_keras" if only_old else "keras").callbacks.Callback

    class KerasCallback(base):  # type: ignore[misc]
        """Logs the hyperparameters of a model when its training begins, and that it has ended.

        ``writer`` is a folder, in which an event file is made, or a writer.
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
            _log_start(self._writer, self._hparams, self._trial_id)

        def on_train_end(self, logs: Any = None) -> None:
            from tracklight.formats.hparams import Status
            from tracklight.sdk.sessions import log_session_end

            if self._writer is None:
                return
            log_session_end(self._writer, Status.SUCCESS)
            if self._writer is self._target:
                self._writer.flush()
            else:
                self._writer.close()
            self._writer = None

    return KerasCallback
