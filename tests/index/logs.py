"""Build small logs for tests, record by record."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests import builders as b
from tracklight.formats.hparams import HParamValue, build_session_start
from tracklight.index.catalog import Catalog
from tracklight.logdir.access import parse_roots

START = 1


def point(step: int, value: float, *, tag: str = "loss", wall: float | None = None) -> bytes:
    wall = 1.7e9 + step if wall is None else wall
    return b.record(b.event(b.summary(b.value(tag, b.simple(value))), step=step, wall=wall))


def points(steps: Iterable[int], *, tag: str = "loss", since: float = 1.7e9) -> bytes:
    """Return one point per second from ``since``; the value of each is its step."""
    pairs = enumerate(steps)
    return b"".join(point(step, step, tag=tag, wall=since + i) for i, step in pairs)


def picture(step: int, data: bytes, *, tag: str = "picture") -> bytes:
    return b.record(b.event(b.summary(b.value(tag, b.image(data))), step=step, wall=1.7e9 + step))


def clip(step: int, data: bytes, *, tag: str = "clip") -> bytes:
    return b.record(b.event(b.summary(b.value(tag, b.audio(data))), step=step, wall=1.7e9 + step))


def histogram(
    step: int, rows: Sequence[Sequence[float]], *, tag: str = "w", wall: float | None = None
) -> bytes:
    """Return a histogram with rows of left edge, right edge and count."""
    raw = b"".join(struct.pack("<3d", *row) for row in rows)
    buckets = b.tensor(b.DOUBLE, b.shape(len(rows), 3), b.content(raw))
    value = b.value(tag, b.metadata("histograms"), buckets)
    wall = 1.7e9 + 10 * step if wall is None else wall
    return b.record(b.event(b.summary(value), step=step, wall=wall))


def text(step: int, words: str, *, tag: str = "words") -> bytes:
    tensor = b.tensor(b.STRING, b.shape(), b.blob(8, words.encode()))
    value = b.value(tag, tensor, b.metadata("text"))
    return b.record(b.event(b.summary(value), step=step, wall=1.7e9 + step))


def pr_curve(step: int, rows: Sequence[Sequence[float]], *, tag: str = "pr") -> bytes:
    """Return a PR curve of six rows, with one number per threshold."""
    raw = b"".join(struct.pack(f"<{len(row)}d", *row) for row in rows)
    tensor = b.tensor(b.DOUBLE, b.shape(len(rows), len(rows[0])), b.content(raw))
    value = b.value(tag, b.metadata("pr_curves"), tensor)
    return b.record(b.event(b.summary(value), step=step, wall=1.7e9 + step))


def cloud(step: int, points: Sequence[Sequence[float]], *, name: str = "cloud") -> bytes:
    """Return a mesh without faces."""
    raw = b"".join(struct.pack("<3d", *point) for point in points)
    tensor = b.tensor(b.DOUBLE, b.shape(1, len(points), 3), b.content(raw))
    value = b.value(f"{name}_VERTEX", b.metadata("mesh"), tensor)
    return b.record(b.event(b.summary(value), step=step, wall=1.7e9 + step))


def hparams(given: dict[str, HParamValue], *, group: str = "") -> bytes:
    """Return the start of a hyperparameter session."""
    message = build_session_start(given, group_name=group).SerializeToString()
    return b.record(b.event(b.summary(b.blob(1, message)), step=0, wall=1.7e9))


def graph(*nodes: str) -> bytes:
    """Return the graph of a run, without edges."""
    described = (b.blob(1, b.blob(1, name.encode()), b.blob(2, b"Op")) for name in nodes)
    return b.record(b.event(b.blob(4, *described), step=0, wall=1.7e9))


def start(step: int) -> bytes:
    """Return the SessionLog.START of a resumed run; some writers give it no wall time."""
    return b.record(b.event(b.session(START), step=step, wall=0.0))


def write(logdir: Path, run: str, data: bytes, *, name: str = "events.out.tfevents.1") -> Path:
    path = logdir / run / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def open_catalog(logdir: Path, cache: bool | Path = False, **options: int) -> Catalog:
    catalog = Catalog(parse_roots(logdir), cache=cache, **options)
    catalog.refresh()
    return catalog
