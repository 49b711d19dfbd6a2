"""What hyperparameters there are, which values they may take, and what is measured."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from tracklight.writer import warnings


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
                raise warnings.ArgumentError(
                    argument, f"must be a {self.dtype.__name__}, not {value!r}"
                )
        if self.min_value > self.max_value:
            raise warnings.ArgumentError("min_value", f"{self.min_value} is above {self.max_value}")


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
            raise warnings.ArgumentError("dtype", "must be given where there are no values")
        self._dtype = type(given[0]) if dtype is None else dtype
        if self._dtype not in (int, float, bool, str):
            name = self._dtype.__name__
            raise warnings.ArgumentError("dtype", f"must be int, float, bool or str, not {name}")
        for value in given:
            if not isinstance(value, self._dtype):
                raise warnings.ArgumentError(
                    "values", f"must all be {self._dtype.__name__}: {value!r}"
                )
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


def to_proto_domain(domain: Domain | None) -> Any:
    """A domain as records have it."""
    from tracklight.formats.hparams import Interval

    if isinstance(domain, _Interval):
        return Interval(domain.min_value, domain.max_value)
    return domain.values if isinstance(domain, Discrete) else None
