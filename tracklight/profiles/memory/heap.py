"""What holds memory at one moment, by the line of the user's program that asked for it."""

from __future__ import annotations

import re
from typing import NamedTuple

from tracklight.formats.pprof import Frame, Profile, Sample

#: Code that is installed and not written by who reads this.
_INSTALLED = re.compile(r"(site|dist)-packages[/\\]|^<frozen|[/\\]lib[/\\]python3")


class Held(NamedTuple):
    where: str
    """File, line and function of the user's program; empty where nobody says."""
    stack: tuple[str, ...]
    """All that was called, the innermost first."""
    kind: str
    device: str
    times: int
    bytes: int


def find_held(profile: Profile) -> list[Held]:
    """The largest first."""
    names = [name.lower() for name in profile.types]
    size = next((at for at, name in enumerate(names) if name in ("space", "bytes")), -1)
    held = (_make(sample, size) for sample in profile.samples)
    return sorted(held, key=lambda each: -each.bytes)


def _make(sample: Sample, size: int) -> Held:
    own = next((frame for frame in sample.stack if not _INSTALLED.search(frame.file)), None)
    return Held(
        where=_write(own or sample.stack[0]) if sample.stack else "",
        stack=tuple(map(_write, sample.stack)),
        kind=sample.labels.get("kind", ""),
        device=sample.labels.get("device", ""),
        times=sample.values[0] if sample.values else 0,
        bytes=sample.values[size] if sample.values else 0,
    )


def _write(frame: Frame) -> str:
    place = f"{frame.file}:{frame.line}" if frame.line else frame.file
    return f"{frame.function} {place}".strip()
