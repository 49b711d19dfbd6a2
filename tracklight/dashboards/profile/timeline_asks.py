"""What the page asks of a timeline; times are picoseconds since the trace began."""

from __future__ import annotations

from typing import Annotated

import msgspec

from tracklight.dashboards.profile.asks import CaptureAsk
from tracklight.profiles.timeline.pyramid import MOST_LEVELS

Number = Annotated[int, msgspec.Meta(ge=0, le=2_000_000_000)]
#: Anything may be asked for, but where no trace reaches there is nothing.
Moment = Annotated[float, msgspec.Meta(ge=-(2.0**60), le=2.0**60)]
Tracks = Annotated[list[Number], msgspec.Meta(max_length=10_000)]


class TilesAsk(CaptureAsk):
    """The tiles from ``first`` to ``last`` of some tracks; 1,024 times 2 ** level ps each."""

    level: Annotated[int, msgspec.Meta(ge=0, lt=MOST_LEVELS)] = 0
    first: int = 0
    last: int = 0
    tracks: Tracks = msgspec.field(default_factory=list)


class EventAsk(CaptureAsk):
    """One event, by its place in the trace."""

    event: Number = 0


class SearchAsk(CaptureAsk):
    """What names, and with ``arguments`` these too, are looked through for.

    Words that all have to be in one, or with ``regex`` an expression; of very many events, those
    from the ``offset`` on.
    """

    query: Annotated[str, msgspec.Meta(max_length=1000)] = ""
    regex: bool = False
    arguments: bool = False
    offset: Number = 0


class StretchAsk(CaptureAsk):
    """A stretch of time in some tracks."""

    start: Moment = 0.0
    end: Moment = 0.0
    tracks: Tracks = msgspec.field(default_factory=list)
