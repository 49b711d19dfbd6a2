"""A look over all series of a file at once, from block heads alone: what a listing shows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracklight.index.block import Block
from tracklight.index.file import EventFile
from tracklight.types import Bool, Float64, Int64


@dataclass(frozen=True, slots=True)
class Survey:
    """A table with one row for each tag of a file."""

    count: Int64
    first_step: Int64
    first_wall: Float64
    last_step: Int64
    last_wall: Float64
    rises: Bool
    """Whether every value has a greater step than the one before it."""

    def to_rows(self) -> list[tuple[int, int, float, int, float, bool]]:
        columns = (
            self.count, self.first_step, self.first_wall,
            self.last_step, self.last_wall, self.rises,
        )  # fmt: skip
        return list(zip(*(column.tolist() for column in columns), strict=True))


def survey_points(file: EventFile) -> Survey:
    return _survey(file, [b for session in file.sessions for b in session.points.blocks])


def survey_references(file: EventFile) -> Survey:
    return _survey(file, [b for session in file.sessions for b in session.references.blocks])


def _survey(file: EventFile, blocks: Iterable[Block[Any]]) -> Survey:
    """Blocks come in the order written, so the first to have a series has its first value."""
    tags = len(file.tags)
    found = Survey(
        count=np.zeros(tags, np.int64),
        first_step=np.zeros(tags, np.int64),
        first_wall=np.zeros(tags, np.float64),
        last_step=np.zeros(tags, np.int64),
        last_wall=np.zeros(tags, np.float64),
        rises=np.ones(tags, np.bool_),
    )
    for block in blocks:
        head, at = block.head, block.head.series
        new = found.count[at] == 0
        found.first_step[at[new]] = head.first_step[new]
        found.first_wall[at[new]] = head.first_wall[new]
        found.rises[at] &= head.rises & (new | (head.first_step > found.last_step[at]))
        found.last_step[at] = head.last_step
        found.last_wall[at] = head.last_wall
        found.count[at] += np.diff(head.starts)
    return found
