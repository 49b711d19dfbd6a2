"""What is known of one event file: its tags, its rows by session, its damage."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np

from tracklight.formats.batch import Batch, Damage, Flaw
from tracklight.index.pack import MappedBlock
from tracklight.index.segment import DAMAGE_KEPT, Origin, Segment, SessionRows, State
from tracklight.index.stack import Session
from tracklight.logdir.filesystem import FileStat
from tracklight.types import DamageInfo, FileInfo, Float64

#: What one row takes in memory: a point's three columns, a reference's six.
POINT_BYTES = 24
REFERENCE_BYTES = 41

_FLAW_WORDS = {
    Flaw.HEADER: "no record starts here",
    Flaw.DATA: "wrong checksum",
    Flaw.PROTO: "not an event",
    Flaw.TORN: "a record that was never finished",
}


class EventFile:
    """One event file as far as it has been read."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.origin = Origin(path, 0, 0, FileStat(0, 0, ""), None)
        self.tags: tuple[bytes, ...] = ()
        self.contents: tuple[int, ...] = ()
        self.metadata: dict[int, bytes] = {}
        self.sessions = [Session()]
        self.records = 0
        self.damaged = 0
        self.damage: list[Damage] = []
        self.lost: Damage | None = None
        self.first_wall = math.inf
        self.last_wall = -math.inf
        self.writer: bytes | None = None
        self._stored_end = 0
        self._stored_tags = 0
        self._stored_sessions = 1
        self._unstored_metadata: dict[int, bytes] = {}

    def append(self, batch: Batch) -> None:
        """Add what a scan of the next bytes found."""
        self._add_tags(batch)
        if batch.session_start is not None:
            self.sessions.append(Session(batch.session_start))
        session = self.sessions[-1]
        session.points.push(batch.points)
        session.references.push(batch.references)
        self._widen(batch.points.wall)
        self._widen(batch.references.wall)
        self.records += batch.records
        self.damaged += len(batch.damage)
        self.damage += batch.damage[: max(0, DAMAGE_KEPT - len(self.damage))]
        self.writer = self.writer or batch.writer

    def compact(self) -> None:
        """Join the small blocks that many reads left behind."""
        for session in self.sessions:
            session.points.compact()
            session.references.compact()

    def adopt(self, segment: Segment) -> None:
        """Add a segment from the cache; it follows on from what is here."""
        self.tags += segment.tags
        self.contents += segment.contents
        self.metadata.update(segment.metadata)
        self.origin = segment.origin
        self._set_state(segment.state)
        self._store_rows(segment)
        self._mark_stored()

    def unstored(self) -> Segment:
        """What is known beyond the cache."""
        return Segment(
            origin=msgspec.structs.replace(self.origin, begin=self._stored_end),
            state=self._state(),
            tags=self.tags[self._stored_tags :],
            contents=self.contents[self._stored_tags :],
            metadata=tuple(self._unstored_metadata.items()),
            sessions=tuple(self._iter_unstored_rows()),
        )

    def store(self, segment: Segment) -> None:
        """Use a segment that now stands in the cache in the place of the rows in memory."""
        self._store_rows(segment)
        self._mark_stored()

    @property
    def is_stored(self) -> bool:
        return self._stored_end == self.origin.end and self.origin.end > 0

    @property
    def is_known(self) -> bool:
        """Whether any of it was read."""
        return self.origin.end > 0

    def comes_from(self, pack: Path) -> bool:
        """Whether some of its rows stand in that pack."""
        return any(
            isinstance(block, MappedBlock) and block.pack_path == pack
            for session in self.sessions
            for block in (*session.points.blocks, *session.references.blocks)
        )

    def memory_bytes(self) -> int:
        """What the rows outside the cache take."""
        return sum(
            POINT_BYTES * session.points.unstored_rows()
            + REFERENCE_BYTES * session.references.unstored_rows()
            for session in self.sessions
        )

    def point_count(self) -> int:
        return sum(len(block) for session in self.sessions for block in session.points.blocks)

    def info(self) -> FileInfo:
        damage = [*self.damage, self.lost] if self.lost else self.damage
        places = (DamageInfo(d.offset, d.size, _FLAW_WORDS[d.flaw]) for d in damage)
        damaged = self.damaged + (self.lost is not None)
        return FileInfo(self.path, self.origin.stat.size, self.records, damaged, tuple(places))

    def _add_tags(self, batch: Batch) -> None:
        if batch.tags:
            self.tags += tuple(batch.tags)
            self.contents += tuple(batch.contents)
        self.metadata.update(batch.metadata)
        self._unstored_metadata.update(batch.metadata)

    def _widen(self, wall: Float64) -> None:
        if len(wall):
            self.first_wall = min(self.first_wall, float(np.fmin.reduce(wall)))
            self.last_wall = max(self.last_wall, float(np.fmax.reduce(wall)))

    def _iter_unstored_rows(self) -> Iterator[SessionRows]:
        for number, session in enumerate(self.sessions):
            points, references = session.points.unstored(), session.references.unstored()
            if points or references or number >= self._stored_sessions:
                yield SessionRows(number, session.start, points, references)

    def _store_rows(self, segment: Segment) -> None:
        for rows in segment.sessions:
            if rows.session == len(self.sessions):
                self.sessions.append(Session(rows.start))
            session = self.sessions[rows.session]
            session.points.store(rows.points)
            session.references.store(rows.references)

    def _state(self) -> State:
        return State(
            self.records,
            self.damaged,
            tuple(self.damage),
            self.first_wall,
            self.last_wall,
            self.writer,
        )

    def _set_state(self, state: State) -> None:
        self.records = state.records
        self.damaged = state.damaged
        self.damage = list(state.damage)
        self.first_wall = state.first_wall
        self.last_wall = state.last_wall
        self.writer = state.writer

    def _mark_stored(self) -> None:
        self._stored_end = self.origin.end
        self._stored_tags = len(self.tags)
        self._stored_sessions = len(self.sessions)
        self._unstored_metadata = {}
