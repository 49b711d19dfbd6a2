"""Captures in ``tests/data/profile``, and what xprof says about them."""

from __future__ import annotations

import json
import lzma
from functools import cache
from pathlib import Path
from typing import Any

from tracklight.analysis.profiles.captures import open_capture, parse_xplane
from tracklight.analysis.profiles.trace import Trace

DATA = Path(__file__).parents[2] / "data" / "profile"
#: Captures with results of xprof.
CASES = ("cnn", "cnn_steps", "customloop", "inputbound", "inputbound_steps", "jit_steps")


def read_bytes(case: str) -> bytes:
    return lzma.decompress((DATA / f"{case}.xplane.pb.xz").read_bytes())


@cache
def read_case(case: str) -> Trace:
    """Read one of `CASES`."""
    return parse_xplane(read_bytes(case))


@cache
def open_file(name: str) -> Trace:
    """Open a capture by its file name."""
    return open_capture(DATA / name)


def get_sample(name: str) -> Path:
    """Return the file of a capture by the first part of its name."""
    suffixes = (".pt.trace.json.gz", ".xplane.pb", ".xplane.pb.xz")
    return next(path for each in suffixes if (path := DATA / f"{name}{each}").exists())


def open_sample(name: str) -> Trace:
    """Open a capture by the first part of its name."""
    path = get_sample(name)
    return read_case(name) if path.suffix == ".xz" else open_file(path.name)


@cache
def read_oracle() -> dict[str, Any]:
    """Return the results of xprof by case."""
    oracle: dict[str, Any] = json.loads(lzma.decompress((DATA / "xprof.json.xz").read_bytes()))
    return oracle
