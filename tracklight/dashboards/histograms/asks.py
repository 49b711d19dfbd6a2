"""What the page asks of the Histograms dashboard."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

Axis = Literal["step", "relative", "wall"]
Format = Literal["csv", "json", "parquet"]


class HistogramChartAsk(msgspec.Struct, forbid_unknown_fields=True):
    """One tag between two places on the axis, and on a grid between two values."""

    id: str
    tag: str
    skip: Annotated[int, msgspec.Meta(ge=0)] = 0
    """So many of the runs that have the tag are passed over."""
    start: float | None = None
    stop: float | None = None
    low: float | None = None
    high: float | None = None


class HistogramsAsk(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Histograms of some tags of these ``runs``, or of all that have them.

    A chart has at most ``most_runs`` of them. Of each series at most ``most`` are answered, chosen
    evenly along the axis: ``step``, ``relative`` (seconds since its first) or ``wall``. With
    ``bins`` they come on a grid of so many, with ``percentiles`` as the nine values of each.
    """

    charts: Annotated[list[HistogramChartAsk], msgspec.Meta(max_length=256)]
    runs: list[str] | None = None
    most_runs: Annotated[int, msgspec.Meta(ge=1, le=200)] = 12
    x: Axis = "step"
    most: Annotated[int, msgspec.Meta(ge=1, le=2000)] = 51
    bins: Annotated[int, msgspec.Meta(ge=0, le=512)] = 30
    percentiles: bool = False
    ignore_outliers: bool = False
    """Whether a few far numbers, or steps, do not decide how far the grid reaches."""


class BucketsAsk(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """All buckets of some tags as a file, those of steps between two places on the axis."""

    tags: list[str]
    runs: list[str] | None = None
    x: Axis = "step"
    start: float | None = None
    stop: float | None = None
    format: Format = "csv"
