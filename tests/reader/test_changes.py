from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import tracklight
from tests import builders as b
from tests.small_log import NAME, write
from tracklight.errors import UsageError
from tracklight.formats import summary
from tracklight.formats.summary import encode_event
from tracklight.formats.tfrecord import encode_record

#: Generous timeout; no test waits that long.
PATIENT_S = 60.0


@pytest.fixture
def log(small_logdir: Path) -> Iterator[tracklight.Log]:
    with tracklight.open(small_logdir, cache=False) as log:
        yield log


def append(path: Path, *records: bytes) -> None:
    with path.open("ab") as file:
        file.write(b"".join(records))


def scalar_at(wall: float, tag: str, step: int, number: float) -> bytes:
    value = b.summary(b.value(tag, b.simple(number)))
    return b.record(b.event(value, step=step, wall=wall))


def test_yields_new_points(log: tracklight.Log, small_logdir: Path) -> None:
    changes = log.watch(interval_s=0.01, timeout_s=PATIENT_S)
    append(small_logdir / "run10/train" / NAME, b.scalar("loss", 1, 1.5), b.scalar("new", 0, 7.0))
    write(small_logdir / "later", b.scalar("loss", 0, 1.0))
    shutil.rmtree(small_logdir / "kinds")

    first = next(changes)

    assert (first.added, first.removed, first.changed) == (
        ("later",),
        ("kinds",),
        ("run10/train",),
    )
    assert first.new_tags == {"later": ("loss",), "run10/train": ("new",)}
    assert first.updated_tags == {"later": ("loss",), "run10/train": ("loss", "new")}
    assert {key: series.value.tolist() for key, series in first.points.items()} == {
        ("later", "loss"): [1.0],
        ("run10/train", "loss"): [1.5],
        ("run10/train", "new"): [7.0],
    }
    assert "1 added, 1 removed, 1 changed; 3 new points in 3 series" in repr(first)
    assert "later" in log

    append(small_logdir / "run10/train" / NAME, b.scalar("loss", 2, 1.25))
    second = next(changes)
    assert {key: series.step.tolist() for key, series in second.points.items()} == {
        ("run10/train", "loss"): [2]
    }


def test_lists_updated_tags_of_other_kinds(log: tracklight.Log, small_logdir: Path) -> None:
    changes = log.watch(interval_s=0.01, timeout_s=PATIENT_S)
    text = encode_record(encode_event(1.8e9, 9, [summary.text("words", "more")]))
    append(small_logdir / "kinds" / NAME, text)

    change = next(changes)

    assert (change.changed, change.updated_tags) == (("kinds",), {"kinds": ("words",)})
    assert not change.points and not change.new_tags


def test_reports_changes_after_a_manual_refresh(log: tracklight.Log, small_logdir: Path) -> None:
    changes = log.watch(interval_s=0.01, timeout_s=PATIENT_S)
    append(small_logdir / "run10/train" / NAME, b.scalar("loss", 1, 1.5))
    log.refresh()

    assert list(next(changes).points) == [("run10/train", "loss")]


def test_reports_each_point_of_several_writers_once(tmp_path: Path) -> None:
    """The file that is listed first grows after the second file was read."""
    folder = tmp_path / "run"
    first, second = folder / "events.out.tfevents.1.a", folder / "events.out.tfevents.2.b"
    folder.mkdir()
    append(first, scalar_at(100.0, "loss", 0, 0.0))
    append(second, scalar_at(101.0, "loss", 0, 10.0), scalar_at(103.0, "loss", 1, 11.0))
    with tracklight.open(tmp_path, cache=False) as log:
        changes = log.watch(interval_s=0.01, timeout_s=PATIENT_S)
        append(first, scalar_at(102.0, "loss", 1, 1.0))
        assert next(changes).points["run", "loss"].value.tolist() == [1.0]
        append(second, scalar_at(104.0, "loss", 2, 12.0))
        append(first, scalar_at(104.0, "loss", 2, 2.0))
        assert sorted(next(changes).points["run", "loss"].value) == [2.0, 12.0]


def test_reports_all_points_of_a_replaced_file(log: tracklight.Log, small_logdir: Path) -> None:
    changes = log.watch(interval_s=0.01, timeout_s=PATIENT_S)
    path = small_logdir / "run10/train" / NAME
    path.unlink()
    path.write_bytes(scalar_at(2e9, "loss", 0, 8.0) + scalar_at(2e9 + 1, "loss", 1, 9.0))

    assert next(changes).points["run10/train", "loss"].value.tolist() == [8.0, 9.0]


def test_stops_after_the_timeout(log: tracklight.Log) -> None:
    assert list(log.watch(interval_s=0.01, timeout_s=0.05)) == []
    assert list(log.watch(interval_s=1000, timeout_s=0)) == []


def test_follows_a_concurrent_writer(tmp_path: Path) -> None:
    path = write(tmp_path / "run", b.scalar("loss", 0, 0.0))
    with tracklight.open(tmp_path, cache=False) as log:
        changes = log.watch(interval_s=0.001, timeout_s=PATIENT_S)
        writer = threading.Thread(
            target=lambda: [append(path, b.scalar("loss", step, step)) for step in range(1, 200)]
        )
        writer.start()
        seen: list[float] = []
        while len(seen) < 199:
            for points in next(changes).points.values():
                seen += points.value.tolist()
        writer.join()
    np.testing.assert_array_equal(seen, np.arange(1, 200))


@pytest.mark.parametrize("arguments", [{"interval_s": -1}, {"timeout_s": -1}])
def test_rejects_negative_times(log: tracklight.Log, arguments: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="must not be negative"):
        log.watch(**arguments)
