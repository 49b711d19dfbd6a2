"""Which metrics sessions have, and in which runs their curves are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from tracklight.formats.hparams import Experiment
from tracklight.formats.hparams import Metric as Declared
from tracklight.logdir.natural import natural_key
from tracklight.plugin_base import Context
from tracklight.sessions.places import Place

Goal = Literal["min", "max"]

_LOWER_IS_BETTER = re.compile(
    r"loss|err|perplexity|ppl|\b(mse|mae|rmse|nll|wer|cer|fid|bpc|bpd)\b|cost|entropy|regret"
    r"|distance|latency|time|seconds|duration|memory|bytes",
    re.IGNORECASE,
)
_AIM = re.compile(r"\b(minimize|maximize)\b", re.IGNORECASE)
#: What is logged along with training but is no measure of how good it was.
_DULL = re.compile(r"(^|/|_)(epoch|step|lr|learning_rate|hp_metric)\b|^lr-", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Metric:
    """A scalar in the runs of sessions: ``tag`` in the run ``<session>/<group>``."""

    group: str
    tag: str
    display_name: str = ""
    description: str = ""
    declared: bool = False
    runs: dict[str, str] = field(default_factory=dict)
    """By session, the run that has it."""

    @property
    def key(self) -> str:
        return f"{self.group}|{self.tag}"

    @property
    def label(self) -> str:
        if self.display_name or not self.group:
            return self.display_name or self.tag
        return f"{self.tag} ({'above' if self.group == '..' else self.group})"

    @property
    def goal(self) -> Goal:
        """Whether more or less of it is wanted, as far as its name and description tell."""
        if said := _AIM.search(self.description):
            return "min" if said[0].lower() == "minimize" else "max"
        return "min" if _LOWER_IS_BETTER.search(f"{self.display_name} {self.tag}") else "max"


def find_metrics(
    context: Context, places: Mapping[str, Place], experiments: Iterable[Experiment]
) -> list[Metric]:
    """Those that were declared, in that order, then all other scalars of the sessions' runs."""
    metrics: dict[tuple[str, str], Metric] = {}
    for one in _iter_declared(experiments):
        names = one.display_name, one.description
        metrics.setdefault((one.group, one.tag), Metric(one.group, one.tag, *names, True))
    for tag in context.tags():
        _add_tag(metrics, tag, context.runs_with(tag), places)
    return sorted(metrics.values(), key=_rank)


def _add_tag(
    metrics: dict[tuple[str, str], Metric],
    tag: str,
    runs: Sequence[str],
    places: Mapping[str, Place],
) -> None:
    by_group: dict[str, dict[str, str]] = {}
    for run in runs:
        place = places.get(run)
        if place is not None:
            by_group.setdefault(place.group, {})[place.session] = run
    for group, own in by_group.items():
        metrics.setdefault((group, tag), Metric(group, tag)).runs.update(own)


def _iter_declared(experiments: Iterable[Experiment]) -> Iterable[Declared]:
    return (metric for experiment in experiments for metric in experiment.metrics)


def _rank(metric: Metric) -> tuple[object, ...]:
    """Sorting keeps the order of those that were declared."""
    if metric.declared:
        return (0,)
    is_dull = _DULL.search(metric.tag) is not None
    return 1, is_dull, natural_key(metric.tag), natural_key(metric.group)
