"""What a copy of a board knows of its sessions."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

from tracklight.dashboards.hparams.asks import ImportanceAsk, SessionsAsk, SparklinesAsk
from tracklight.dashboards.hparams.explaining import explain
from tracklight.dashboards.hparams.sparklines import sketch
from tracklight.dashboards.hparams.telling import tell
from tracklight.plugin import Context
from tracklight.sessions.groups import Over
from tracklight.sessions.readings import How
from tracklight.sessions.study import Study

_HOWS: tuple[How, ...] = ("last", "min", "max")
_OVERS: tuple[Over, ...] = ("mean", "median", "min", "max")
#: Metrics that a copy explains and draws.
_MOST_METRICS = 10


def iter_copies(context: Context, study: Study) -> Iterator[tuple[str, object]]:
    """The answers that a page asks for, under the addresses at which it does."""
    for how in _HOWS:
        answer = tell(study, SessionsAsk(how=how))
        if not answer.rows.names:
            return
        yield f"sessions?how={how}", answer
    for over in _OVERS if answer.repeats else ():
        yield f"sessions?how=last&over={over}", tell(study, SessionsAsk(over=over))
    for metric in answer.metrics[:_MOST_METRICS]:
        name = quote(metric.key, safe="")
        yield f"importance?metric={name}&how=last", explain(study, ImportanceAsk(metric=metric.key))
        yield f"sparklines?metric={name}", sketch(context, study, SparklinesAsk(metric.key))
