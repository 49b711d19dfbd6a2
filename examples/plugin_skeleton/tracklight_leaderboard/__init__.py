"""A dashboard that ranks runs by the best value of a scalar."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

import msgspec
import numpy as np

from tracklight.plugin import Dashboard, Point, Route, SeriesSummary, encode_uri_component

Goal = Literal["min", "max"]


class RankingRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Rank runs by the lowest or highest value of a tag."""

    tag: str
    goal: Goal = "min"


class Ranking(msgspec.Struct):
    """The best run comes first; ``steps`` and ``values`` are columns with one number per run."""

    runs: list[str]
    steps: Any
    values: Any


class Leaderboard(Dashboard):
    """Rank runs by the best value of a scalar."""

    name: ClassVar[str] = "leaderboard"
    title: ClassVar[str] = "Leaderboard"
    plugins: ClassVar[Sequence[str]] = ("scalars",)
    web_dir: ClassVar[Path | None] = Path(__file__).parent / "web"

    def routes(self) -> list[Route]:
        return [Route("ranking", RankingRequest, self.rank, "GET", etag=self.context.cursor)]

    def rank(self, request: RankingRequest) -> Ranking:
        """Rank runs by the best value of a scalar; runs without a finite value are left out."""
        runs = self.context.runs_with(request.tag)
        summaries = self.context.log.summaries([(run, request.tag) for run in runs])
        best = {
            run: _get_best(summary, request.goal)
            for run, summary in zip(runs, summaries, strict=True)
        }
        ranked = sorted(
            ((run, point) for run, point in best.items() if point is not None),
            key=lambda pair: pair[1].value if request.goal == "min" else -pair[1].value,
        )
        return Ranking(
            runs=[run for run, _ in ranked],
            steps=np.array([point.step for _, point in ranked], np.int64),
            values=np.array([point.value for _, point in ranked], np.float64),
        )

    def export_static(self, runs: Sequence[str]) -> Iterator[tuple[str, object]]:
        """Yield the ranking of every scalar under the path that the page requests."""
        for tag in self.context.scalar_tags():
            for goal in get_args(Goal):
                path = f"ranking?tag={encode_uri_component(tag)}&goal={goal}"
                yield path, self.rank(RankingRequest(tag, goal))


def _get_best(summary: SeriesSummary | None, goal: Goal) -> Point | None:
    if summary is None:
        return None
    return summary.min if goal == "min" else summary.max
