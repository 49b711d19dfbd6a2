"""What the server needs of the index and of the watcher, and nothing more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from tracklight import plugin_base
from tracklight.logdir.roots import Root
from tracklight.logdir.watch import Changes
from tracklight.types import Delta, FileInfo, Progress


class Source(plugin_base.Source, Protocol):
    """The catalog as the server sees it, which also keeps it fresh.

    All but ``refresh`` may be called from any thread, also while ``refresh`` runs in another.
    """

    @property
    def progress(self) -> Progress: ...

    @property
    def problems(self) -> Sequence[str]: ...

    @property
    def linked(self) -> Mapping[Root, frozenset[str]]: ...

    def refresh(self, changes: Changes | None = None) -> Delta: ...

    def files(self, run: str) -> tuple[FileInfo, ...]: ...


class Watch(Protocol):
    """Says what may have changed under the log directories; at first that is everything."""

    def wait(self, timeout_s: float = ...) -> Changes: ...

    def follow(self, root: Root, linked: frozenset[str]) -> None: ...

    def stop(self) -> None: ...
