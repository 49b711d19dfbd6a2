"""``GET api/health``: whether the server is well, for what watches over it."""

from __future__ import annotations

from typing import Literal

import msgspec

import tracklight
from tracklight.plugin_base import Nothing, Route
from tracklight.server.follow import Follower


class HealthAnswer(msgspec.Struct):
    """``failing`` while the log cannot be read; it is tried again, so a restart is no help."""

    status: Literal["ok", "loading", "failing"]
    version: str


def health_route(follower: Follower) -> Route:
    def answer(_: Nothing) -> HealthAnswer:
        """Whether the server is well; answered without a token."""
        if follower.failure is not None:
            return HealthAnswer("failing", tracklight.__version__)
        return HealthAnswer("loading" if follower.is_loading else "ok", tracklight.__version__)

    return Route("health", Nothing, answer, "GET")
