"""From which share of a step on each thing is told, and how somebody says otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from tracklight.errors import UsageError
from tracklight.profiles.findings.advice import TITLES

#: Shares of a step; of precision, the share of 16 bits below which something is said.
USUAL: Mapping[str, float] = {
    "input": 0.05,
    "kernel launch": 0.15,
    "host": 0.2,
    "small kernels": 0.1,
    "precision": 0.1,
    "copies": 0.05,
    "collectives": 0.15,
    "compilation": 0.05,
    "retracing": 0.05,
    "eager": 0.1,
    "other": 0.15,
}


class ThresholdRow(msgspec.Struct):
    """Percent of a step, or for precision of what the device computes."""

    name: str
    title: str
    percent: float
    usual: float


def read_thresholds(text: str) -> Mapping[str, float]:
    """Those of a text such as ``input:10,host:30``, in percent; what it does not name is usual."""
    chosen = dict(USUAL)
    for part in filter(None, text.split(",")):
        name, _, percent = part.partition(":")
        share = _read_share(percent)
        if name not in USUAL or share is None:
            raise UsageError(
                f'"{part}" is no threshold; write one of {", ".join(USUAL)}, a colon and a percent'
            )
        chosen[name] = share
    return chosen


def _read_share(percent: str) -> float | None:
    try:
        share = float(percent) / 100
    except ValueError:
        return None
    return share if 0 <= share <= 1 else None


def list_thresholds(chosen: Mapping[str, float]) -> Iterator[ThresholdRow]:
    for name, share in chosen.items():
        yield ThresholdRow(name, TITLES[name], _in_percent(share), _in_percent(USUAL[name]))


def _in_percent(share: float) -> float:
    return round(100 * share, 6)
