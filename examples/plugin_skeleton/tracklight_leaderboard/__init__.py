"""A dashboard that ranks runs by the best value of a scalar."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import msgspec
import numpy as np

from tracklight.plugin import Dashboard, Route
from tracklight.types import Digest, Point


class RankingAsk(msgspec.Struct, forbid_unknown_fields=True):
    """The best of these runs, or of all, by the lowest or the highest value of a tag."""

    tag: str
    goal: Literal["min", "max"] = "min"
    runs: list[str] | None = None


class Ranking(msgspec.Struct):
    """The best run comes first; steps and values are columns, one number a run."""

    runs: list[str]
    steps: Any
    values: Any


class Leaderboard(Dashboard):
    """Which run did best?"""

    name: ClassVar[str] = "leaderboard"
    title: ClassVar[str] = "Leaderboard"
    plugins: ClassVar[Sequence[str]] = ("scalars",)
    module: ClassVar[Path | None] = Path(__file__).parent / "web"

    def routes(self) -> list[Route]:
        return [Route("ranking", RankingAsk, self.rank)]

    def rank(self, ask: RankingAsk) -> Ranking:
        """Runs by the best value of a scalar; those without any finite value are left out."""
        runs = self.context.runs_with(ask.tag) if ask.runs is None else ask.runs
        digests = self.context.log.digests([(run, ask.tag) for run in runs])
        best = {run: _best(found, ask.goal) for run, found in zip(runs, digests, strict=True)}
        ranked = sorted(
            ((run, point) for run, point in best.items() if point is not None),
            key=lambda pair: pair[1].value if ask.goal == "min" else -pair[1].value,
        )
        return Ranking(
            runs=[run for run, _ in ranked],
            steps=np.array([point.step for _, point in ranked], np.int64),
            values=np.array([point.value for _, point in ranked], np.float64),
        )


def _best(digest: Digest | None, goal: str) -> Point | None:
    if digest is None:
        return None
    return digest.low if goal == "min" else digest.high
