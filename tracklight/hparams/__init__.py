"""Logs hyperparameters, with the words of ``tensorboard.plugins.hparams.api``.

    with tracklight.summary.create_file_writer("logs/run1").as_default():
        tracklight.hparams.hparams({"lr": 0.1, "optimizer": "adam"})

Which values a hyperparameter may take and which metrics are to be compared can be said once, in the
folder above the runs, by `hparams_config`. `search` tries values by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tracklight.formats.hparams import iter_flattened
from tracklight.hparams.domains import (
    Discrete,
    Domain,
    HParam,
    IntInterval,
    Metric,
    RealInterval,
    to_proto_domain,
)
from tracklight.writer import warnings
from tracklight.writer.defaults import find_active_writer
from tracklight.writer.event_writer import EventWriter

if TYPE_CHECKING:
    from tracklight.formats.proto import Message
    from tracklight.hparams.optuna_search import search

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
    """Log the hyperparameters of this run to the default writer.

    Nested ones get names such as ``optimizer/lr``. Runs of one ``trial_id`` are shown as one; by
    default, runs with the same hyperparameters are one trial.
    """
    writer = find_active_writer()
    return writer is not None and log_hparams(writer, hparams, trial_id, start_time_secs)


def hparams_config(
    hparams: Sequence[HParam], metrics: Sequence[Metric], time_created_secs: float | None = None
) -> bool:
    """Log which hyperparameters and metrics there are, once, in the folder above the runs."""
    writer = find_active_writer()
    if writer is None:
        return False
    with warnings.catch_errors("hparams_config", strict=writer.strict):
        return writer.add([build_experiment(hparams, metrics, time_created_secs or 0.0)], 0)
    return False


def log_hparams(
    writer: EventWriter,
    hparams: Mapping[str, Any] | Mapping[str | HParam, Any],
    trial_id: str | None = None,
    start_time_secs: float | None = None,
) -> bool:
    """Log the hyperparameters of a run to a writer."""
    from tracklight.hparams import session

    with warnings.catch_errors("hparams", strict=writer.strict):
        named = [
            (key.name if isinstance(key, HParam) else str(key), value)
            for key, value in hparams.items()
        ]
        flat = [pair for name, value in named for pair in iter_flattened({name: value})]
        session.check_unique([name for name, _ in flat])
        values = {name: session.as_hparam_value(name, value) for name, value in flat}
        return session.log_session_start(writer, values, trial_id, start_time_secs)
    return False


def build_experiment(
    hparams: Sequence[HParam], metrics: Sequence[Metric], created_wall_time: float
) -> Message:
    """What `hparams_config` logs."""
    from tracklight.formats import hparams as formats

    return formats.build_experiment(
        [
            formats.HParam(
                hparam.name,
                to_proto_domain(hparam.domain),
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
                formats.DatasetType(metric.dataset_type or 0),
            )
            for metric in metrics
        ],
        created_wall_time=created_wall_time,
    )


def __getattr__(name: str) -> Any:
    # A class needs its base when it is made, and Keras takes seconds to import.
    if name == "KerasCallback":
        from tracklight.hparams.session import create_keras_callback_class

        return create_keras_callback_class()
    if name == "search":
        from tracklight.hparams.optuna_search import search

        return search
    raise AttributeError(f"module 'tracklight.hparams' has no attribute {name!r}")
