"""A stretch of one event file, as read: what the cache stores and gives back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from tracklight.formats.batch import Damage, Points, References
from tracklight.index.block import Block, join_blocks, merge_points, merge_references
from tracklight.logdir.filesystem import FileStat
from tracklight.logdir.fingerprint import Fingerprint

#: Places of damage that are remembered for a file; more are only counted.
DAMAGE_KEPT = 100


@dataclass(frozen=True, slots=True)
class SessionRows:
    """The rows a segment adds to one session of its file."""

    session: int
    start: int | None
    points: Block[Points] | None
    references: Block[References] | None


class Origin(msgspec.Struct, frozen=True, array_like=True):
    """Which bytes a segment was read from, so that it is never taken for those of another file."""

    path: str
    begin: int
    end: int
    stat: FileStat
    fingerprint: Fingerprint | None


class State(msgspec.Struct, frozen=True, array_like=True):
    """What is known of a file as a whole once a segment has been read."""

    records: int
    damaged: int
    damage: tuple[Damage, ...]
    first_wall: float
    last_wall: float
    writer: bytes | None


@dataclass(frozen=True, slots=True)
class Segment:
    """New knowledge of one file; its tags and sessions go on from those before it."""

    origin: Origin
    state: State
    tags: tuple[bytes, ...]
    contents: tuple[int, ...]
    metadata: tuple[tuple[int, bytes], ...]
    sessions: tuple[SessionRows, ...]


def join_segments(chain: Sequence[Segment]) -> Segment:
    """One segment in the place of several that follow each other in one file."""
    first, last = chain[0], chain[-1]
    return Segment(
        origin=msgspec.structs.replace(last.origin, begin=first.origin.begin),
        state=last.state,
        tags=tuple(tag for segment in chain for tag in segment.tags),
        contents=tuple(content for segment in chain for content in segment.contents),
        metadata=tuple(dict(pair for segment in chain for pair in segment.metadata).items()),
        sessions=_join_sessions(chain),
    )


def _join_sessions(chain: Sequence[Segment]) -> tuple[SessionRows, ...]:
    by_number: dict[int, list[SessionRows]] = {}
    for segment in chain:
        for rows in segment.sessions:
            by_number.setdefault(rows.session, []).append(rows)
    return tuple(
        SessionRows(
            number,
            pieces[0].start,
            join_blocks([p.points for p in pieces if p.points], merge_points),
            join_blocks([p.references for p in pieces if p.references], merge_references),
        )
        for number, pieces in by_number.items()
    )
