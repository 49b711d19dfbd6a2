"""What a tool is that a capture is looked at with; each is a module of this folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import msgspec

from tracklight.dashboards.profile.asks import CaptureAsk
from tracklight.dashboards.profile.opened import Opened
from tracklight.dashboards.profile.store import Store
from tracklight.plugin import Route


class Why(NamedTuple):
    """Why a tool has nothing to show of a capture, and what would give it something."""

    why: str
    next: str = ""


class Tool(NamedTuple):
    """What one tool adds to the dashboard."""

    name: str
    title: str
    routes: Callable[[Store], Sequence[Route]]
    explain: Callable[[Opened], Why | None]
    """Why it is empty; None: it is not."""
    copies: Callable[[Store, CaptureAsk], Iterable[tuple[str, object]]] = lambda store, ask: ()
    """What a copy without a server knows of one capture: paths with their query, and answers."""


class ToolRow(msgspec.Struct):
    """``why`` is empty where there is something to show."""

    name: str
    title: str
    why: str
    next: str


class ToolsAnswer(msgspec.Struct):
    """All tools, whether or not they have something to show, in their order."""

    tools: list[ToolRow]


def tell_tools(tools: Iterable[Tool], opened: Opened) -> ToolsAnswer:
    explained = ((tool, tool.explain(opened) or Why("")) for tool in tools)
    return ToolsAnswer([ToolRow(tool.name, tool.title, *why) for tool, why in explained])
