"""Streams that stand at the same place are told the same, so it is put together once for all."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from tracklight.server.bell import Bell

PlaceT = TypeVar("PlaceT", bound=Hashable)
ToldT = TypeVar("ToldT")


class Together(Generic[PlaceT, ToldT]):
    """Asks in a thread, at most once for each place between two rings of a bell.

    A bell rings after something has changed, and whoever then asks has heard it: what was put
    together before that ring is not what they get. Some things change without a ring; those are a
    moment old at most.
    """

    def __init__(self, bell: Bell, tell: Callable[[PlaceT], ToldT], moment_s: float) -> None:
        self._bell = bell
        self._tell = tell
        self._moment_s = moment_s
        self._moment = (-1, -1)
        self._asked: dict[PlaceT, asyncio.Future[ToldT]] = {}

    async def ask(self, place: PlaceT) -> ToldT:
        moment = (self._bell.rings, int(time.monotonic() / self._moment_s))
        if moment != self._moment:
            self._moment, self._asked = moment, {}
        told = self._asked.get(place)
        if told is None:
            told = asyncio.ensure_future(asyncio.to_thread(self._tell, place))
            self._asked[place] = told
        # One client that leaves takes nothing away from the others.
        return await asyncio.shield(told)
