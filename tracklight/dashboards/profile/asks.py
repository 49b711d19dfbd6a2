"""What the page asks of the Profile dashboard."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from tracklight.profiles.steps.division import Rules

Name = Annotated[str, msgspec.Meta(max_length=2000)]


class CaptureAsk(msgspec.Struct):
    """A capture by the ``id`` that the listing gives it; of several hosts, by default the first."""

    capture: Name
    host: Name = ""
    marker: Name = ""
    """What events are called that are taken for steps; by default that is found out."""
    rules: Rules = "ours"
    before: Name = ""
    """Another capture to compare with."""
    before_host: Name = ""
    mark: int | None = None
    """With it, the answer can never be another one."""
    thresholds: Name = ""
    """From which percent of a step on things are told, if not as usual: ``input:10,host:30``."""


class CaptureFileAsk(CaptureAsk):
    """The file itself, or the same in Chrome's form, which Perfetto opens."""

    format: Literal["original", "chrome"] = "original"


def ask_before(ask: CaptureAsk) -> CaptureAsk:
    """The same, of the capture that is compared with."""
    before, host = ask.before, ask.before_host
    return CaptureAsk(before, host, ask.marker, ask.rules, thresholds=ask.thresholds)
