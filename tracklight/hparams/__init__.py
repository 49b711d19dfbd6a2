"""Log hyperparameters with the API of ``tensorboard.plugins.hparams.api``; run searches.

    with tracklight.summary.create_file_writer("logs/run1").as_default():
        tracklight.hparams.hparams({"lr": 0.1, "optimizer": "adam"})

`hparams_config` optionally describes the hyperparameters and metrics of all runs, once, in the
directory above them. `search` runs a hyperparameter search with Optuna.

`session` describes hyperparameters and metrics and logs the start and end of a run;
`optuna_studies` implements `search`, and converts existing Optuna studies to event files. May
import `tracklight.writer` and `tracklight.formats`; Keras and Optuna are only imported when they
are used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tracklight.hparams.session import Discrete, Domain, HParam, IntInterval, Metric, RealInterval
from tracklight.writer import warnings
from tracklight.writer.event_writer import find_active_writer

if TYPE_CHECKING:
    from tracklight.hparams.optuna_studies import search

    KerasCallback: Any

__all__ = [
    "Discrete",
    "Domain",
    "HParam",
    "IntInterval",
    "KerasCallback",
    "Metric",
    "RealInterval",
    "hparams",
    "hparams_config",
    "search",
]


def hparams(
    hparams: Mapping[str, Any] | Mapping[str | HParam, Any],
    trial_id: str | None = None,
    start_time_secs: float | None = None,
) -> bool:
    """Log the hyperparameters of a run to the default writer.

    Args:
        hparams: Values by name or `HParam`. Nested dicts get names such as ``optimizer/lr``.
        trial_id: Runs with the same id are shown as one trial; by default, runs with the same
            hyperparameters.
        start_time_secs: Start of the run in seconds since the epoch; by default now.

    Returns:
        Whether the hyperparameters were accepted; False if there is no default writer.

    Raises:
        UsageError: A name occurs twice and the writer is strict. Otherwise a warning is issued.

    Example:
        >>> with writer.as_default():
        ...     tracklight.hparams.hparams({"lr": 0.1, "optimizer": "adam"})
        True
    """
    writer = find_active_writer()
    if writer is None:
        return False
    from tracklight.hparams.session import log_hparams

    return log_hparams(writer, hparams, trial_id, start_time_secs)


def hparams_config(
    hparams: Sequence[HParam], metrics: Sequence[Metric], time_created_secs: float | None = None
) -> bool:
    """Log the hyperparameters and metrics of an experiment to the default writer.

    Call it once, with a writer for the directory above the runs.

    Args:
        hparams: The hyperparameters and their domains.
        metrics: The metrics by which runs are compared.
        time_created_secs: Creation time in seconds since the epoch.

    Returns:
        Whether the configuration was accepted; False if there is no default writer.

    Example:
        >>> from tracklight.hparams import HParam, Metric, RealInterval, hparams_config
        >>> with tracklight.summary.create_file_writer("logs").as_default():
        ...     hparams_config([HParam("lr", RealInterval(1e-5, 1e-1))], [Metric("accuracy")])
        True
    """
    writer = find_active_writer()
    if writer is None:
        return False
    with warnings.catch_errors("hparams_config", strict=writer.strict):
        from tracklight.hparams.session import build_experiment

        return writer.add([build_experiment(hparams, metrics, time_created_secs or 0.0)], 0)
    return False


def __getattr__(name: str) -> Any:
    # Lazy: the callback needs its base class, and Keras takes seconds to import.
    if name == "KerasCallback":
        from tracklight.hparams.session import create_keras_callback_class

        return create_keras_callback_class()
    if name == "search":
        from tracklight.hparams.optuna_studies import search

        return search
    raise AttributeError(f"module 'tracklight.hparams' has no attribute {name!r}")
