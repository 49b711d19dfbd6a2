"""What can be asked about sessions."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from tracklight.sessions.groups import Over
from tracklight.sessions.readings import How, Reading, make_reading

Count = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
Step = Annotated[int, msgspec.Meta(ge=-(1 << 53), le=1 << 53)]
Names = Annotated[list[str], msgspec.Meta(max_length=100_000)]
Format = Literal["csv", "json", "latex", "markdown"]


class ReadingAsk(msgspec.Struct, forbid_unknown_fields=True):
    """How curves become numbers.

    ``how`` is the last value, the lowest, the highest, the mean of the last ``n``, or the one at
    ``step``, which is the last that was logged up to there. With ``over``, repeats of a trial are
    one row.
    """

    how: How = "last"
    over: Over | None = None
    n: Count = 10
    step: Step = 0

    def get_reading(self) -> Reading:
        return make_reading(self.how, self.n, self.step)


class SessionsAsk(ReadingAsk):
    """All sessions, or what is new since a revision; ``metric`` asks for more metrics."""

    since: str | None = None
    metric: Annotated[list[str], msgspec.Meta(max_length=1000)] = []


class ImportanceAsk(ReadingAsk, kw_only=True):
    """What made the difference for a metric, among all rows or those of these names."""

    metric: str
    sessions: Names | None = None
    seed: Annotated[int, msgspec.Meta(ge=0, le=1 << 31)] = 0


class SparklinesAsk(msgspec.Struct, forbid_unknown_fields=True):
    """The curves of a metric, in a few points each; without ``sessions``, of the first thousand."""

    metric: str
    sessions: Annotated[list[str], msgspec.Meta(max_length=1000)] | None = None
    points: Annotated[int, msgspec.Meta(ge=4, le=1000)] = 40


class ExportAsk(ReadingAsk, kw_only=True):
    """Columns by key, in their order, of all rows or of these names in their order.

    Keys are ``name``, ``group``, ``status``, ``start``, ``end``, ``duration``, ``hparam:NAME`` and
    ``metric:KEY``; without any, all columns there are.
    """

    format: Format
    columns: Annotated[list[str], msgspec.Meta(max_length=3000)] = []
    sessions: Names | None = None
