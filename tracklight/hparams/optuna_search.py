"""The space that a search looks through, in the words of Optuna.

    {"lr": (1e-5, 1e-1, "log"), "units": (16, 128), "optimizer": ["adam", "sgd"]}

A list is a choice; a pair is everything between two numbers, whole ones if both are. The domains of
`tracklight.hparams` and Optuna's own distributions may stand there as well.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from tracklight.errors import MissingDependencyError, UsageError
from tracklight.formats.hparams import HParamValue, Status
from tracklight.hparams import build_experiment, log_hparams
from tracklight.hparams.domains import Discrete, Domain, HParam, IntInterval, Metric, RealInterval
from tracklight.hparams.session import log_session_end
from tracklight.writer.event_writer import EventWriter

if TYPE_CHECKING:
    import optuna
    from optuna import Trial
    from optuna.distributions import BaseDistribution

Space = Mapping[str | HParam, Any]


def parse_space(space: Space) -> dict[str, BaseDistribution]:
    """By name, which values may be tried."""
    if not space:
        raise UsageError("the space of a search is empty; give it a hyperparameter at least")
    return {
        _get_name(key): _parse_values(_get_name(key), _get_domain(key, it))
        for key, it in space.items()
    }


def build_hparams(space: Space) -> list[HParam]:
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


def suggest_value(trial: Trial, name: str, distribution: BaseDistribution) -> Any:
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


def _parse_values(name: str, values: Any) -> BaseDistribution:
    from optuna import distributions

    if isinstance(values, distributions.BaseDistribution):
        return values
    if isinstance(values, Discrete):
        return distributions.CategoricalDistribution(tuple(values.values))
    if isinstance(values, (IntInterval, RealInterval)):
        values = (values.min_value, values.max_value)
    if isinstance(values, tuple) and 2 <= len(values) <= 3:
        return _parse_interval(name, *values)
    if isinstance(values, Sequence) and not isinstance(values, (str, tuple)) and values:
        return distributions.CategoricalDistribution(tuple(values))
    raise UsageError(
        f'"{name}" is searched in {values!r}; give a list of values, (low, high), or '
        '(low, high, "log")'
    )


def _parse_interval(name: str, low: Any, high: Any, scale: str = "linear") -> BaseDistribution:
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


# Searches for good hyperparameters with Optuna, and logs every trial so that a board can follow.
#
# def objective(trial):
#     model = build(units=trial["units"], dropout=trial["dropout"])
#     for epoch in range(10):
#         trial.log({"accuracy": train(model, trial["lr"])}, epoch)
#     return evaluate(model)
#
# space = {"lr": (1e-5, 1e-1, "log"), "units": [16, 32, 64], "dropout": (0.0, 0.5)}
# study = tracklight.hparams.search(objective, space, n_trials=50, logdir="logs/search")

Objective = Callable[["SearchTrial"], float]

Direction = Literal["minimize", "maximize"]

PathLike = str | os.PathLike[str]


class SearchTrial(Mapping[str, HParamValue]):
    """One try: the values to be tried, by name, and a run to log to."""

    def __init__(
        self,
        values: Mapping[str, HParamValue],
        optuna_trial: optuna.Trial,
        logdir: str,
        metric: str,
    ) -> None:
        self.number: int = optuna_trial.number
        self.logdir = logdir
        """The folder of its run; what else is logged there belongs to it."""
        self.writer = EventWriter(logdir)
        self._values = dict(values)
        self._optuna_trial = optuna_trial
        self._metric = metric
        self._next_step = 0

    def __getitem__(self, name: str) -> HParamValue:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        """Log some numbers of a step."""
        for tag, value in metrics.items():
            self.writer.scalar(tag, float(value), step)

    def report(self, value: float, step: int) -> None:
        """Tell Optuna how the trial stands; if it is not worth going on, the trial ends here."""
        import optuna

        self.writer.scalar(self._metric, float(value), step)
        self._next_step = max(self._next_step, step + 1)
        self._optuna_trial.report(value, step)
        if self._optuna_trial.should_prune():
            raise optuna.TrialPruned

    def finish(self, value: float) -> None:
        """Log how good it was in the end, after what was reported on the way."""
        self.writer.scalar(self._metric, value, self._next_step)


def search(
    objective: Objective,
    space: Space,
    n_trials: int,
    sampler: Literal["tpe", "random", "grid"] | optuna.samplers.BaseSampler = "tpe",
    logdir: PathLike = "logs/search",
    *,
    direction: Direction = "maximize",
    metric: str = "objective",
    seed: int | None = None,
    study: optuna.Study | None = None,
    catch: type[Exception] | tuple[type[Exception], ...] = (),
) -> optuna.Study:
    """Try values out of ``space``, and return Optuna's study of all trials.

    ``objective`` gets a `SearchTrial` and returns how good it was, which is logged as ``metric``. Every
    trial is a run below ``logdir``. Errors of the objective end the search, unless they are to be
    caught; ``study`` goes on with one that is there.
    """
    create_study = _import_optuna().create_study
    distributions = parse_space(space)
    made: optuna.Study = study or create_study(
        direction=direction, sampler=_make_sampler(sampler, distributions, seed)
    )
    _log_experiment(logdir, space, Metric(metric, description=f"The search is to {direction} it."))

    def attempt(asked: optuna.Trial) -> float:
        values = {name: suggest_value(asked, name, it) for name, it in distributions.items()}
        folder = os.path.join(os.fspath(logdir), f"trial-{asked.number:04}")
        return _run_trial(objective, SearchTrial(values, asked, folder, metric))

    made.optimize(attempt, n_trials=n_trials, catch=catch)
    return made


def _run_trial(objective: Objective, trial: SearchTrial) -> float:
    """A trial that Optuna ends early is no failure; any error is."""
    from optuna import TrialPruned

    log_hparams(trial.writer, {**trial}, f"trial-{trial.number:04}")
    status = Status.FAILURE
    try:
        value = float(objective(trial))
        trial.finish(value)
        status = Status.SUCCESS
        return value
    except TrialPruned:
        status = Status.SUCCESS
        raise
    finally:
        log_session_end(trial.writer, status)
        trial.writer.close()


def _log_experiment(logdir: PathLike, space: Space, metric: Metric) -> None:
    writer = EventWriter(logdir)
    writer.add([build_experiment(build_hparams(space), [metric], 0.0)], 0)
    writer.close()


def _make_sampler(sampler: Any, distributions: Mapping[str, Any], seed: int | None) -> Any:
    optuna = _import_optuna()
    if isinstance(sampler, optuna.samplers.BaseSampler):
        return sampler
    if sampler == "grid":
        choices = {name: list_choices(it) for name, it in distributions.items()}
        return optuna.samplers.GridSampler(choices, seed=seed)
    makers = {"tpe": optuna.samplers.TPESampler, "random": optuna.samplers.RandomSampler}
    if sampler not in makers:
        raise UsageError(f'no sampler "{sampler}"; there are tpe, random and grid')
    return makers[sampler](seed=seed)


def _import_optuna() -> Any:
    try:
        import optuna
    except ImportError as error:
        raise MissingDependencyError("tracklight.hparams.search", "search") from error
    return optuna
