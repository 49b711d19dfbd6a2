"""Searches for good hyperparameters with Optuna, and logs every trial so that a board can follow.

def objective(trial):
    model = build(units=trial["units"], dropout=trial["dropout"])
    for epoch in range(10):
        trial.log({"accuracy": train(model, trial["lr"])}, epoch)
    return evaluate(model)

space = {"lr": (1e-5, 1e-1, "log"), "units": [16, 32, 64], "dropout": (0.0, 0.5)}
study = tracklight.hparams.search(objective, space, n_trials=50, logdir="logs/search")
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from tracklight.errors import MissingExtra, UsageError
from tracklight.formats.hparam_names import HParamValue
from tracklight.formats.hparams import Status
from tracklight.hparams import build_experiment, log_start
from tracklight.hparams.domains import Metric
from tracklight.hparams.spaces import Space, list_choices, make_hparams, read_space, suggest
from tracklight.sdk.sessions import log_session_end
from tracklight.sdk.writer import EventWriter

if TYPE_CHECKING:
    import optuna

Objective = Callable[["Trial"], float]
Direction = Literal["minimize", "maximize"]
PathLike = str | os.PathLike[str]


class Trial(Mapping[str, HParamValue]):
    """One try: the values to be tried, by name, and a run to log to."""

    def __init__(
        self, values: Mapping[str, HParamValue], asked: optuna.Trial, logdir: str, metric: str
    ) -> None:
        self.number: int = asked.number
        self.logdir = logdir
        """The folder of its run; what else is logged there belongs to it."""
        self.writer = EventWriter(logdir)
        self._values = dict(values)
        self._asked = asked
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
        self._asked.report(value, step)
        if self._asked.should_prune():
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

    ``objective`` gets a `Trial` and returns how good it was, which is logged as ``metric``. Every
    trial is a run below ``logdir``. Errors of the objective end the search, unless they are to be
    caught; ``study`` goes on with one that is there.
    """
    create_study = _import_optuna().create_study
    distributions = read_space(space)
    made: optuna.Study = study or create_study(
        direction=direction, sampler=_make_sampler(sampler, distributions, seed)
    )
    _log_experiment(logdir, space, Metric(metric, description=f"The search is to {direction} it."))

    def attempt(asked: optuna.Trial) -> float:
        values = {name: suggest(asked, name, it) for name, it in distributions.items()}
        folder = os.path.join(os.fspath(logdir), f"trial-{asked.number:04}")
        return _try_out(objective, Trial(values, asked, folder, metric))

    made.optimize(attempt, n_trials=n_trials, catch=catch)
    return made


def _try_out(objective: Objective, trial: Trial) -> float:
    """A trial that Optuna ends early is no failure; any error is."""
    from optuna import TrialPruned

    log_start(trial.writer, {**trial}, f"trial-{trial.number:04}")
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
    writer.add([build_experiment(make_hparams(space), [metric], 0.0)], 0)
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
        raise MissingExtra("tracklight.hparams.search", "search") from error
    return optuna
