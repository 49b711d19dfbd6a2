"""What the server needs of the index and of the watcher, and nothing more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tracklight.types import Delta, FileInfo, Grid, Progress, RunInfo, TagInfo


class Root(Protocol):
    """One log directory, with the name it was given on the command line or an empty one."""

    @property
    def name(self) -> str: ...

    @property
    def path(self) -> str: ...


class Source(Protocol):
    """The catalog as the server sees it.

    All but ``refresh`` may be called from any thread, also while ``refresh`` runs in another.
    """

    @property
    def roots(self) -> Sequence[Root]: ...

    @property
    def version(self) -> int: ...

    @property
    def progress(self) -> Progress: ...

    def refresh(self) -> Delta: ...

    def runs(self) -> tuple[RunInfo, ...]: ...

    def files(self, run: str) -> tuple[FileInfo, ...]: ...

    def tags(self, run: str) -> tuple[TagInfo, ...]: ...

    def reduce(
        self, keys: Sequence[tuple[str, str]], start: float | None, stop: float | None, width: int
    ) -> Grid: ...


class Watch(Protocol):
    """Says when something under the log directories may have changed."""

    def wait(self, timeout_s: float) -> bool: ...

    def close(self) -> None: ...
