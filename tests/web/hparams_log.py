"""A grid search over units, dropout and learning rate with known results."""

from __future__ import annotations

import itertools
import math
import time
from pathlib import Path
from typing import NamedTuple

from tests import builders as b
from tests.web.event_writer import append_records
from tracklight.formats.hparams import Status, build_session_end, build_session_start


class Session(NamedTuple):
    name: str
    units: int
    dropout: float
    learning_rate: float
    optimizer: str
    status: Status

    @property
    def accuracy(self) -> float:
        """Accuracy that rises with units and learning rate, falls with dropout, and is unique."""
        rise = 0.05 * math.log2(self.units / 64) + 0.09 * math.log10(self.learning_rate / 1e-4)
        return round(0.6 + rise - 0.35 * self.dropout + 0.003 * (self.optimizer == "adam"), 4)

    @property
    def loss(self) -> float:
        return round(2 * (1 - self.accuracy), 4)


def _make_grid() -> list[Session]:
    settings = itertools.product((64, 128, 256, 512), (0.1, 0.2, 0.4), (1e-4, 1e-3, 1e-2))
    return [
        Session(
            f"run-{index:02d}",
            units,
            dropout,
            rate,
            "adam" if index % 2 else "sgd",
            Status.FAILURE if index % 12 == 3 else Status.SUCCESS,
        )
        for index, (units, dropout, rate) in enumerate(settings)
    ]


GRID = _make_grid()
#: Failed sessions are not ranked.
BEST = max(
    (session for session in GRID if session.status is Status.SUCCESS),
    key=lambda session: session.accuracy,
)
STEPS = 5


def write_grid(logdir: Path) -> None:
    start = time.time() - 86_400
    for index, session in enumerate(GRID):
        append_records(logdir / session.name, *session_records(session, start + 600 * index))


def session_records(session: Session, start: float) -> list[bytes]:
    hparams = {
        "units": float(session.units),
        "dropout": session.dropout,
        "learning_rate": session.learning_rate,
        "optimizer": session.optimizer,
    }
    end = build_session_end(session.status, wall_time=start + 60 * STEPS)
    return [
        _session_record(build_session_start(hparams, wall_time=start).SerializeToString(), start),
        *(_metrics_record(session, step, start + 60 * step) for step in range(1, STEPS + 1)),
        _session_record(end.SerializeToString(), start + 60 * STEPS),
    ]


def _session_record(record: bytes, wall: float) -> bytes:
    return b.record(b.event(b.summary(b.blob(1, record)), step=0, wall=wall))


def _metrics_record(session: Session, step: int, wall: float) -> bytes:
    share = step / STEPS
    values = {"accuracy": session.accuracy * share, "loss": session.loss / share}
    fields = [b.value(tag, b.simple(value)) for tag, value in values.items()]
    return b.record(b.event(b.summary(*fields), step=step, wall=wall))
