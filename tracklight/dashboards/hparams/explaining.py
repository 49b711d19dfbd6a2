"""Says what made the difference for a metric, in numbers and in plain sentences."""

from __future__ import annotations

import numpy as np

from tracklight.dashboards.hparams.answers import Bar, ImportanceAnswer, Pair, Trust
from tracklight.dashboards.hparams.asks import ImportanceAsk
from tracklight.dashboards.hparams.table import Table
from tracklight.plugin import Problem
from tracklight.sessions.importance import LEAST_SESSIONS, Importance, Share, measure
from tracklight.sessions.metrics import Metric
from tracklight.sessions.study import Study
from tracklight.types import Int64

_GOOD_R2, _FAIR_R2 = 0.6, 0.3
_GOOD_SESSIONS = 20
#: Smaller shares are not worth a word.
_LEAST_SHARE = 0.05
_MOST_NAMED = 3


def explain(study: Study, ask: ImportanceAsk) -> ImportanceAnswer:
    """The importance of every hyperparameter that is not the same everywhere."""
    table = Table(study, ask.get_reading(), ask.over)
    column = table.read_metric(table.get_metric(ask.metric))
    rows = find_rows(table, ask.sessions)
    rows = rows[~np.isnan(column.steps[rows])]
    sign = 1 if column.metric.goal == "max" else -1
    found = measure(table.state.hparams, table.firsts[rows], column.values[rows], sign, ask.seed)
    return ImportanceAnswer(
        metric=ask.metric,
        sentence=_sum_up(column.metric, found),
        trust=_judge(found),
        bars=[_make_bar(share) for share in found.shares],
        pairs=[Pair(*pair) for pair in found.pairs],
        problem=None if found.shares else _find_problem(found),
    )


def _make_bar(it: Share) -> Bar:
    return Bar(it.name, it.label, it.share, it.deviation, it.direction, it.best)


def find_rows(table: Table, names: list[str] | None) -> Int64:
    """The places of rows by their names, in the order of these; all of them if none are given."""
    if names is None:
        return np.arange(len(table.names))
    places = {name: place for place, name in enumerate(table.names)}
    return np.array([places[name] for name in names if name in places], np.int64)


def _sum_up(metric: Metric, found: Importance) -> str:
    named = [it for it in found.shares if it.share >= _LEAST_SHARE][:_MOST_NAMED]
    if not named or found.r2 < _FAIR_R2 / 2:
        return f"What makes a difference for {metric.label} cannot be told from these sessions."
    parts = _enumerate([f"{it.label} ({it.share:.0%})" for it in named])
    where = [said for said in map(_say_best, named) if said]
    ending = f" It is best with {_enumerate(where)}." if where else ""
    return f"{metric.label} depends mostly on {parts}.{ending}"


def _say_best(share: Share) -> str:
    if share.best is None:
        return ""
    trend = {1: "high ", -1: "low "}.get(share.direction, "")
    if share.best in ("true", "false"):
        return f"{share.label} {share.best}"
    return f"{trend}{share.label} ({share.best})"


def _judge(found: Importance) -> Trust:
    """A few sessions can be explained by anything, so they are never trusted fully."""
    share = f"{max(found.r2, 0):.0%}"
    if not found.shares:
        return Trust("none", 0.0, found.sessions, "Nothing can be told.")
    told = f"On sessions that it has not seen, the model explains {share} of the differences"
    if found.r2 >= _GOOD_R2 and found.sessions >= _GOOD_SESSIONS:
        return Trust("good", found.r2, found.sessions, f"{told}: these shares can be relied on.")
    if found.r2 >= _FAIR_R2:
        return Trust("fair", found.r2, found.sessions, f"{told}: take the order, not the numbers.")
    return Trust("poor", found.r2, found.sessions, f"{told}: more sessions are needed to tell.")


def _find_problem(found: Importance) -> Problem:
    if found.sessions < LEAST_SESSIONS:
        what = f"Only {found.sessions} sessions have this metric."
        return Problem(what, f"From {LEAST_SESSIONS} sessions on it can be told what matters.")
    return Problem(
        "All of these sessions have the same hyperparameters, or the same result.",
        "Choose another metric, or sessions that differ.",
    )


def _enumerate(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
