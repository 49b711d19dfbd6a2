"""Turns a trace of PyTorch's profiler, or any in Chrome's form, into a trace of ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tracklight.errors import FormatError
from tracklight.formats.chrome_trace import iter_pieces, read_head
from tracklight.profiles.devices import read_kineto_devices
from tracklight.profiles.reading.gathering import Gathered
from tracklight.profiles.reading.versions import read_head_facts
from tracklight.profiles.trace import Trace


def read_kineto(path: Path, tell: Callable[[float], None] = lambda share: None) -> Trace:
    """Read a file; one that breaks off gives what stands before that."""
    gathered = Gathered()
    problems: tuple[str, ...] = ()
    try:
        for piece in iter_pieces(path, tell):
            gathered.add(piece)
    except FormatError as error:
        problems = (str(error),)
    head = read_head(path)
    base_ns = head.get("baseTimeNanoseconds", 0)
    return replace(
        gathered.make_trace(base_ns if isinstance(base_ns, int) else 0, problems),
        devices=read_kineto_devices(head.get("deviceProperties")),
        environment=read_head_facts(head),
    )
