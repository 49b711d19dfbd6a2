"""The space that a search looks through, in the words of Optuna.

    {"lr": (1e-5, 1e-1, "log"), "units": (16, 128), "optimizer": ["adam", "sgd"]}

A list is a choice; a pair is everything between two numbers, whole ones if both are. The domains of
`tracklight.hparams` and Optuna's own distributions may stand there as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tracklight.errors import UsageError
from tracklight.hparams.domains import Discrete, Domain, HParam, IntInterval, RealInterval

if TYPE_CHECKING:
    from optuna import Trial
    from optuna.distributions import BaseDistribution

Space = Mapping[str | HParam, Any]


def read_space(space: Space) -> dict[str, BaseDistribution]:
    """By name, which values may be tried."""
    if not space:
        raise UsageError("the space of a search is empty; give it a hyperparameter at least")
    return {
        _get_name(key): _read(_get_name(key), _get_domain(key, it)) for key, it in space.items()
    }


def make_hparams(space: Space) -> list[HParam]:
    """The same as it is logged for the whole search."""
    return [
        HParam(_get_name(key), _as_domain(_get_domain(key, values)))
        for key, values in space.items()
    ]


def list_choices(distribution: BaseDistribution) -> list[Any]:
    """All values of a distribution that has a few, as a grid wants them."""
    from optuna.distributions import CategoricalDistribution, IntDistribution

    if isinstance(distribution, CategoricalDistribution):
        return list(distribution.choices)
    if isinstance(distribution, IntDistribution):
        return list(range(distribution.low, distribution.high + 1, distribution.step))
    raise UsageError("a grid needs lists of values; give a list in the place of an interval")


def suggest(trial: Trial, name: str, distribution: BaseDistribution) -> Any:
    """Let a sampler choose a value."""
    from optuna import distributions

    if isinstance(distribution, distributions.CategoricalDistribution):
        return trial.suggest_categorical(name, distribution.choices)
    if isinstance(distribution, distributions.IntDistribution):
        bounds = distribution.low, distribution.high
        return trial.suggest_int(name, *bounds, step=distribution.step, log=distribution.log)
    if isinstance(distribution, distributions.FloatDistribution):
        limits = distribution.low, distribution.high
        return trial.suggest_float(name, *limits, step=distribution.step, log=distribution.log)
    raise UsageError(f'"{name}" has a distribution of a kind that is not known: {distribution}')


def _get_name(key: str | HParam) -> str:
    return key.name if isinstance(key, HParam) else key


def _get_domain(key: str | HParam, values: Any) -> Any:
    return key.domain if values is None and isinstance(key, HParam) else values


def _read(name: str, values: Any) -> BaseDistribution:
    from optuna import distributions

    if isinstance(values, distributions.BaseDistribution):
        return values
    if isinstance(values, Discrete):
        return distributions.CategoricalDistribution(tuple(values.values))
    if isinstance(values, (IntInterval, RealInterval)):
        values = (values.min_value, values.max_value)
    if isinstance(values, tuple) and 2 <= len(values) <= 3:
        return _read_interval(name, *values)
    if isinstance(values, Sequence) and not isinstance(values, (str, tuple)) and values:
        return distributions.CategoricalDistribution(tuple(values))
    raise UsageError(
        f'"{name}" is searched in {values!r}; give a list of values, (low, high), or '
        '(low, high, "log")'
    )


def _read_interval(name: str, low: Any, high: Any, scale: str = "linear") -> BaseDistribution:
    from optuna import distributions

    if scale not in ("linear", "log"):
        raise UsageError(f'"{name}" has the scale {scale!r}; it is "linear" or "log"')
    whole = isinstance(low, int) and isinstance(high, int)
    make = distributions.IntDistribution if whole else distributions.FloatDistribution
    try:
        return make(low, high, log=scale == "log")
    except (TypeError, ValueError) as error:
        raise UsageError(f'"{name}" cannot be searched: {error}') from None


def _as_domain(values: Any) -> Domain | None:
    """Where a domain cannot be told, as with values of several types, none is."""
    if isinstance(values, Domain):
        return values
    if isinstance(values, tuple) and len(values) >= 2:
        return RealInterval(float(values[0]), float(values[1]))
    if isinstance(values, Sequence) and len({type(value) for value in values}) == 1:
        return Discrete(values) if type(values[0]) in (int, float, bool, str) else None
    return None
