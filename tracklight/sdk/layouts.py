"""Layouts of charts in the forms that programs have them in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tracklight.formats.custom_scalars import LAYOUT_TAG, Band, Margin, Multiline, layout
from tracklight.formats.proto import Message
from tracklight.formats.summary import describe, tensor
from tracklight.sdk.lenient import Misuse

_FORM = '{"category": {"title": ["Multiline", ["loss/.*"]]}}, with "Margin" for bands of three tags'


def build_layout(data: Any) -> Message:
    """From TensorBoard's message, torch's nested dicts, or lists of Multiline and Margin."""
    if hasattr(data, "SerializeToString"):
        return tensor(LAYOUT_TAG, data.SerializeToString(), describe("custom_scalars"))
    if not isinstance(data, Mapping):
        raise Misuse("layout", f"must be a dict such as {_FORM}")
    return layout({str(title): _read_charts(charts) for title, charts in data.items()})


def _read_charts(charts: Any) -> Sequence[Multiline | Margin]:
    if isinstance(charts, Mapping):
        return [_read_chart(str(title), chart) for title, chart in charts.items()]
    if all(isinstance(chart, (Multiline, Margin)) for chart in charts):
        return list(charts)
    raise Misuse("layout", f"must be a dict such as {_FORM}")


def _read_chart(title: str, chart: Any) -> Multiline | Margin:
    match chart:
        case [str(kind), [*tags]] if kind.lower() == "multiline":
            return Multiline(title, tags)
        case [str(kind), [str(value), str(lower), str(upper)]] if kind.lower() == "margin":
            return Margin(title, [Band(value, lower, upper)])
    raise Misuse("layout", f'has a chart "{title}" of unknown form; give {_FORM}')
