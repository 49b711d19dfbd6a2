"""Custom scalar layouts are compatible with TensorBoard in both directions."""

from __future__ import annotations

import pytest

from tracklight.formats.summary import (
    MarginChart,
    MarginSeries,
    MultilineChart,
    custom_scalars_layout,
    parse_layout,
)
from tracklight.types import LayoutCategory, LayoutChart, LayoutMargin

layout_pb2 = pytest.importorskip("tensorboard.plugins.custom_scalar.layout_pb2")

CATEGORIES = (
    LayoutCategory("Quality", True, (LayoutChart("Loss", tags=("loss", r"val\d+/.*")),)),
    LayoutCategory(
        "Spread",
        False,
        (LayoutChart("Band", margins=(LayoutMargin("loss", "low", "high"),)),),
    ),
)


def test_reads_layout_of_tensorboard() -> None:
    chart, margin = layout_pb2.Chart, layout_pb2.MarginChartContent
    lines = layout_pb2.MultilineChartContent(tag=["loss", r"val\d+/.*"])
    band = margin(series=[margin.Series(value="loss", lower="low", upper="high")])
    message = layout_pb2.Layout(
        category=[
            layout_pb2.Category(
                title="Quality", closed=True, chart=[chart(title="Loss", multiline=lines)]
            ),
            layout_pb2.Category(title="Spread", chart=[chart(title="Band", margin=band)]),
        ]
    )
    assert parse_layout(message.SerializeToString()) == CATEGORIES


def test_tensorboard_reads_layout() -> None:
    value = custom_scalars_layout(
        {
            "Quality": [MultilineChart("Loss", ["loss"])],
            "Spread": [MarginChart("Band", [MarginSeries("loss", "low", "high")])],
        }
    )
    (data,) = value.tensor.string_val
    quality, spread = layout_pb2.Layout.FromString(data).category
    assert (quality.title, list(quality.chart[0].multiline.tag)) == ("Quality", ["loss"])
    assert spread.chart[0].margin.series[0].upper == "high"
