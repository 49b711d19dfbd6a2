"""Push changes to browsers as server-sent events.

A client holds a cursor: the point in this process's history of the index up to which it knows the
log. The stream sends what changed since then, so a slow client gets several changes as one, and a
client that reconnects continues where it was. A change applies to the cursor before it; a client
at any other cursor must not apply it, as a run that came and went in between is left out. Browsers
allow six connections per server, so share one stream between the tabs of a browser. The events are

    status  {"loading", "progress", "problems", …}    at the start, and when it changes
    delta   {"cursor", "added", "removed", "changed", "tags", "points", …}
    reset   {"cursor"}                                what changed is not known: ask anew
    alert   {"id", "run", "tag", "text", …}           an alarm was raised, or is over
    notes   {"revision"}                              what is kept beside the log has changed
    beat    {}                                        nothing was sent for about 15 seconds

Where streams do not get through, poll ``api/live/poll``, which returns the same.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncGenerator

import msgspec

from tracklight.plugin_base import Route
from tracklight.server.bell import Bell
from tracklight.server.follow import Follower
from tracklight.server.news import DeltaEvent, News
from tracklight.server.overview import Overview
from tracklight.server.sayings import Saying, Sayings
from tracklight.server.source import Source
from tracklight.server.together import Together
from tracklight.server.wire import ProgressRow, progress_row, readable
from tracklight.types import Delta

HEARTBEAT_S = 15.0
PROGRESS_S = 0.25
_MOST_PROBLEMS = 20


class Status(msgspec.Struct):
    """How the reading goes."""

    loading: bool
    progress: ProgressRow
    problems: list[str]
    """The first sentences on what could not be read; ``problem_count`` counts all."""
    problem_count: int


class PollAsk(msgspec.Struct, frozen=True):
    """Where the client stands: ``cursor`` and ``heard`` of the answer before."""

    since: str = ""
    heard: int | None = None


class PollAnswer(msgspec.Struct):
    """What a stream would have said. With ``reset`` everything has to be asked for anew."""

    cursor: str
    heard: int
    reset: bool
    status: Status
    delta: DeltaEvent | None
    said: list[Saying]


class Live:
    """The state behind all streams of one server."""

    def __init__(
        self,
        source: Source,
        overview: Overview,
        follower: Follower,
        *,
        heartbeat_s: float = HEARTBEAT_S,
    ) -> None:
        self._heartbeat_s = heartbeat_s
        self.source = source
        self.follower = follower
        self.news = News(source, overview)
        self.history = self.news.history
        self.sayings = Sayings()
        self.bell = Bell()
        self.remarks: list[str] = []
        """What else is wrong with this server, in sentences."""
        self._together = Together(self.bell, self._tell, PROGRESS_S)
        follower.listeners.append(self._publish)

    def routes(self) -> list[Route]:
        return [Route("live/poll", PollAsk, self.poll, "GET")]

    def say(self, name: str, body: object) -> None:
        """Send an event to every open page; from any thread."""
        self.sayings.add(name, body)
        self.bell.ring()

    def state(self) -> str:
        """Says something else whenever the index may have changed.

        The version grows at the end of a refresh, but runs do so all the while.
        """
        return f"{self.history.process}.{self.source.version}.{self.source.progress}"

    def status(self) -> Status:
        failure = self.follower.failure
        problems = [*([failure] if failure else []), *self.remarks, *self.source.problems]
        return Status(
            loading=self.follower.is_loading,
            progress=progress_row(self.source.progress),
            problems=[readable(problem) for problem in problems[:_MOST_PROBLEMS]],
            problem_count=len(problems),
        )

    def poll(self, ask: PollAsk) -> PollAnswer:
        """What the live stream would have said since the answer before."""
        heard = self.sayings.count if ask.heard is None else ask.heard
        said = self.sayings.find_since(heard)
        cursor, delta = self.news.find_since(ask.since)
        return PollAnswer(
            cursor=cursor,
            heard=self.sayings.count if said is None else heard + len(said),
            reset=said is None or (delta is None and cursor != ask.since),
            status=self.status(),
            delta=delta,
            said=said or [],
        )

    async def stream(self, cursor: str) -> AsyncGenerator[bytes, None]:
        """Yield server-sent events for a client that has everything up to ``cursor``.

        A heartbeat is sent when nothing else was for about 15 seconds. It is due by the clock:
        every refresh of the log wakes the stream, mostly without anything to send.
        """
        place = PollAsk(cursor, self.sayings.count)
        sent_status: Status | None = None
        heartbeat_due_s = 0.0
        with self.bell.listen() as event:
            while not self.bell.silent:
                event.clear()
                answer, status_event, events = await self._together.ask(place)
                place = PollAsk(answer.cursor, answer.heard)
                if answer.status != sent_status:
                    sent_status = answer.status
                    events = [status_event, *events]
                if not events and time.monotonic() >= heartbeat_due_s:
                    events = [_HEARTBEAT]
                for encoded in events:
                    yield encoded
                now_s = time.monotonic()
                if events:
                    # Randomized, so that streams woken together do not all send at once.
                    heartbeat_due_s = now_s + self._heartbeat_s * random.uniform(0.7, 1.0)
                wait_s = max(0.0, heartbeat_due_s - now_s)
                await _rings(event, min(wait_s, PROGRESS_S) if sent_status.loading else wait_s)

    def _tell(self, place: PollAsk) -> tuple[PollAnswer, bytes, list[bytes]]:
        """What is new, and as events: the status, and the rest."""
        answer = self.poll(place)
        return answer, encode_event("status", answer.status), _encode(answer)

    def _publish(self, delta: Delta | None) -> None:
        # Files with vectors change where no run does.
        if delta is not None and delta.version != self.history.version:
            self.news.add(delta)
        self.bell.ring()


def _encode(answer: PollAnswer) -> list[bytes]:
    messages = [encode_event(saying.name, saying.body) for saying in answer.said]
    if answer.reset:
        messages.append(encode_event("reset", {"cursor": answer.cursor}, answer.cursor))
    elif answer.delta is not None:
        messages.append(encode_event("delta", answer.delta, answer.cursor))
    return messages


def encode_event(name: str, body: object, cursor: str | None = None) -> bytes:
    """One server-sent event; its id is what a browser sends back when it reconnects."""
    head = f"event: {name}\n" + (f"id: {cursor}\n" if cursor else "")
    return head.encode() + b"data: " + msgspec.json.encode(body) + b"\n\n"


_HEARTBEAT = encode_event("beat", {})


async def _rings(event: asyncio.Event, timeout_s: float) -> bool:
    try:
        await asyncio.wait_for(event.wait(), timeout_s)
    except asyncio.TimeoutError:
        return False
    return True
