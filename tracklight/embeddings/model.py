"""An embedding as it is offered: its name, and the versions of it that training left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: A checkpoint by its prefix, any other file that holds tensors, or text or raw memory.
Kind = Literal["checkpoint", "file", "plain"]


@dataclass(frozen=True, slots=True)
class Version:
    """An embedding at one step of training; paths are whole."""

    step: int | None
    kind: Kind
    path: str
    key: str = ""
    """What the file calls the tensor; empty where it holds only one."""
    shape: tuple[int, ...] = ()
    """Empty where only reading the vectors can tell."""
    metadata_path: str = ""
    sprite_path: str = ""
    sprite_size: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Embedding:
    """Vectors that go by one name in a run."""

    run: str
    name: str
    versions: tuple[Version, ...] = ()
    """From the first step to the last."""
    bookmarks_path: str = ""
    problem: str = ""
    """A sentence on why there is none."""
