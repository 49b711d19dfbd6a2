"""What the page asks of the Scalars dashboard."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from tracklight.index.baseline import Mode
from tracklight.index.smoothing import Smoothing

Center = Literal["mean", "median"]
Spread = Literal["std", "stderr", "ci95", "minmax"]
Format = Literal["csv", "json", "parquet"]


class AgainstRun(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The run that others are compared with, tag by tag."""

    run: str
    mode: Mode = "difference"


class Look(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """How series are looked at: of these ``runs`` or of all, along the axis ``x``.

    ``x`` is ``step``, ``relative_step`` (less the series' first), ``relative`` (seconds since its
    first point), ``wall``, ``index`` or ``metric:<tag>``. Points that were overwritten are
    left out.
    """

    runs: list[str] | None = None
    x: str = "step"
    smoothing: Smoothing | None = None
    baseline: AgainstRun | None = None


class ChartAsk(msgspec.Struct, forbid_unknown_fields=True):
    """One chart: all runs' series of some tags, between two places on the axis."""

    id: str
    tags: Annotated[list[str], msgspec.Meta(max_length=200)]
    start: float | None = None
    stop: float | None = None


class Group(msgspec.Struct, forbid_unknown_fields=True):
    """Runs that are drawn as one band."""

    key: str
    runs: list[str]


class QueryAsk(Look, kw_only=True):
    """Charts ``width`` pixels wide; ``overwritten`` also asks for points that were overwritten.

    Runs in ``groups`` become bands around their ``center``, all others lines.
    """

    charts: Annotated[list[ChartAsk], msgspec.Meta(max_length=512)]
    width: Annotated[int, msgspec.Meta(ge=1, le=8192)] = 400
    overwritten: bool = False
    groups: list[Group] | None = None
    center: Center = "mean"
    band: Spread = "std"


class AtAsk(Look, kw_only=True):
    """The point of each series that is nearest to a place on the axis."""

    tags: list[str]
    at: float


class RangeAsk(Look, kw_only=True):
    """A range of each series, its ends included; null leaves an end open."""

    tags: list[str]
    start: float | None = None
    stop: float | None = None


class TableAsk(Look, kw_only=True):
    """All points of the series as a file, on request those that were overwritten as well."""

    tags: list[str]
    format: Format = "csv"
    overwritten: bool = False
