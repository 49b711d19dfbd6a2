"""The layout of charts that the program which logs can ask for: built, and read again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from google.protobuf.message import DecodeError

from tracklight.errors import FormatError
from tracklight.formats import proto
from tracklight.formats.event import decode_text
from tracklight.formats.proto import Message
from tracklight.formats.summary import describe, tensor
from tracklight.types import LayoutCategory, LayoutChart, LayoutMargin

LAYOUT_TAG = "custom_scalars__config__"


@dataclass(frozen=True, slots=True)
class Multiline:
    """A chart of all tags that match one of some regular expressions."""

    title: str
    tags: Sequence[str]


class Band(NamedTuple):
    """Three tags: a line, and the lower and upper edge of a band around it."""

    value: str
    lower: str
    upper: str


@dataclass(frozen=True, slots=True)
class Margin:
    """A chart of lines with bands."""

    title: str
    bands: Sequence[Band]


def layout(categories: Mapping[str, Sequence[Multiline | Margin]]) -> Message:
    """The value that holds a layout: titles of categories and the charts of each."""
    message = proto.Layout(
        category=[
            proto.Category(title=title.encode(), chart=[_build_chart(chart) for chart in charts])
            for title, charts in categories.items()
        ]
    )
    return tensor(LAYOUT_TAG, message.SerializeToString(), describe("custom_scalars"))


def _build_chart(chart: Multiline | Margin) -> Message:
    if isinstance(chart, Multiline):
        lines = proto.MultilineChartContent(tag=[tag.encode() for tag in chart.tags])
        return proto.Chart(title=chart.title.encode(), multiline=lines)
    series = [
        proto.MarginSeries(
            value=band.value.encode(), lower=band.lower.encode(), upper=band.upper.encode()
        )
        for band in chart.bands
    ]
    return proto.Chart(title=chart.title.encode(), margin=proto.MarginChartContent(series=series))


def read_layout(data: bytes) -> tuple[LayoutCategory, ...]:
    """The categories of a layout, from the message that a log holds."""
    try:
        message = proto.Layout.FromString(data)
    except DecodeError as error:
        raise FormatError("this is no layout of charts") from error
    return tuple(
        LayoutCategory(
            title=decode_text(category.title),
            closed=category.closed,
            charts=tuple(_read_chart(chart) for chart in category.chart),
        )
        for category in message.category
    )


def _read_chart(chart: Message) -> LayoutChart:
    return LayoutChart(
        title=decode_text(chart.title),
        tags=tuple(decode_text(tag) for tag in chart.multiline.tag),
        margins=tuple(
            LayoutMargin(
                decode_text(series.value), decode_text(series.lower), decode_text(series.upper)
            )
            for series in chart.margin.series
        ),
    )
