"""Which series an ask means, and the lens it looks at them through."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tracklight.dashboards.scalars.asks import Look
from tracklight.errors import UsageError
from tracklight.index.baseline import Baseline, make_baseline
from tracklight.index.lens import Lens
from tracklight.plugin import Context

#: A series: its run and its tag.
Key = tuple[str, str]


@dataclass(frozen=True)
class Choice:
    """The runs of one ask."""

    context: Context
    look: Look

    def keys(self, tags: Iterable[str]) -> list[Key]:
        """Tag by tag, the chosen runs that have it, in natural order."""
        chosen = None if self.look.runs is None else frozenset(self.look.runs)
        return [
            (run, tag)
            for tag in tags
            for run in self.context.runs_with(tag)
            if chosen is None or run in chosen
        ]

    def make_lens(self, tags: Iterable[str]) -> Lens:
        """With the baselines of some tags, where the ask names a run to compare with."""
        look = self.look
        lens = Lens(look.x, look.smoothing)
        if lens.metric is not None and not self.context.runs_with(lens.metric):
            raise UsageError(f'no run has a scalar "{lens.metric}" to put on the axis')
        if look.baseline is None:
            return lens
        baselines = self._find_baselines(look.baseline.run, tags, lens)
        return Lens(look.x, look.smoothing, baselines, look.baseline.mode)

    def _find_baselines(self, run: str, tags: Iterable[str], lens: Lens) -> dict[str, Baseline]:
        shared = [tag for tag in tags if run in self.context.runs_with(tag)]
        if not shared:
            raise UsageError(f'the baseline "{run}" has none of the tags of this chart')
        found = self.context.log.query([(run, tag) for tag in shared], lens, make_baseline)
        return dict(zip(shared, found, strict=True))
