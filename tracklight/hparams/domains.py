"""Describe hyperparameters, their domains, and metrics."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from tracklight.writer import warnings


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
