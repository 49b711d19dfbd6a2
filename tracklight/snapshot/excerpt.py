"""A log with only some of its runs and tags."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

from tracklight.server.source import Source
from tracklight.types import CaptureFile, RunInfo, SharedTag, TagInfo


class Excerpt:
    """Lists only the chosen runs and tags; whatever else is asked for comes from the whole log.

    So hyperparameters that a run has from one above it are found, whether that one is chosen
    or not.
    """

    def __init__(self, source: Source, runs: Container[str], tags: Container[str]) -> None:
        self._source = source
        self._runs = runs
        self._tags = tags

    def runs(self) -> tuple[RunInfo, ...]:
        return tuple(run for run in self._source.runs() if run.name in self._runs)

    def tags(self, run: str) -> tuple[TagInfo, ...]:
        return tuple(info for info in self._source.tags(run) if info.tag in self._tags)

    def shared_tags(self, runs: Sequence[str]) -> tuple[SharedTag, ...]:
        shared = self._source.shared_tags(runs)
        return tuple(tag for tag in shared if tag.tag in self._tags)

    def captures(self) -> tuple[CaptureFile, ...]:
        return tuple(it for it in self._source.captures() if it.run in self._runs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)
