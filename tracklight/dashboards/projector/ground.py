"""What a layout starts from: vectors, and another layout onto which it is turned."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tracklight.dashboards.projector.desk import Desk, Plan
from tracklight.dashboards.projector.library import Library
from tracklight.dashboards.projector.matching import choose_column, match_rows
from tracklight.dashboards.projector.opened import Opened
from tracklight.projections.turning import turn_onto
from tracklight.projections.work import Work
from tracklight.types import Float32, Int32


@dataclass(frozen=True, eq=False)
class Target:
    """The points that a layout has in common with another, and where they are in that one."""

    mine: Int32
    """Their places among the rows of mine."""
    places: Float32
    vectors: Float32 | None
    """What the other layout was made of, if that is another step of the same: the numbers of two
    models mean different things, however many there are."""


@dataclass(frozen=True, eq=False)
class Ground:
    """The rows of an opened embedding that a layout is made of."""

    opened: Opened
    plan: Plan
    target: Target | None

    @property
    def count(self) -> int:
        return self.opened.rows if self.plan.rows is None else len(self.plan.rows)

    def take(self) -> Float32:
        return self.opened.take(self.plan.rows, self.plan.spherize)

    def find_labels(self, column: str | None) -> Int32 | None:
        """What rows are told apart by, -1 where that is missing."""
        if column is None:
            return None
        labels = self.opened.get_column(column)
        codes = labels.get_codes()
        is_empty = np.array([not value for value in labels.values])
        codes = np.where(is_empty[codes], -1, codes).astype(np.int32)
        chosen: Int32 = codes if self.plan.rows is None else codes[self.plan.rows]
        return chosen

    def find_near(self, dimensions: int) -> Float32 | None:
        """The other layout for all of my rows; those that it does not have are in its middle."""
        if self.target is None or not len(self.target.mine):
            return None
        there = self.target.places[:, :dimensions]
        near = np.tile(there.mean(axis=0), (self.count, 1)).astype(np.float32)
        near[self.target.mine] = there
        return near if near.shape[1] == dimensions else None

    def turn(self, places: Float32) -> Float32:
        if self.target is None:
            return places
        return turn_onto(places, self.target.mine, self.target.places)

    def turn_shown(self, work: Work) -> Work:
        """Work of which layouts are seen turned while they still move."""
        return replace(work, show=lambda layout: work.show(self.turn(layout)))


def find_target(
    library: Library, desk: Desk, opened: Opened, plan: Plan, align: tuple[str, str | None]
) -> Target:
    """Where the points of a layout are in that of another job, and by which column they are."""
    key, column = align
    layout, other = desk.get_layout(key)
    others = library.open(other.found)
    matches = match_rows(opened, others, choose_column(opened, others, column))
    if plan.rows is not None:
        matches = matches[plan.rows]
    places_of = np.full(others.rows, -1, np.int32)
    shown = np.arange(others.rows) if other.rows is None else other.rows
    places_of[shown] = np.arange(len(shown))
    theirs = np.where(matches >= 0, places_of[matches], -1)
    mine = np.flatnonzero(theirs >= 0).astype(np.int32)
    is_step = other.found.id == plan.found.id
    vectors = others.take(other.rows, other.spherize) if is_step else None
    return Target(mine, layout[theirs[mine]], vectors)
