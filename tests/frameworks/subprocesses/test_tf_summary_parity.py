"""tracklight writes the same records as ``tf.summary``, mostly the same bytes."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.frameworks.programs import need, run_keras
from tests.frameworks.programs.summary_calls import (
    SAME_BUCKETS,
    SAME_BYTES,
    SAME_CURVES,
    SAME_PIXELS,
)
from tests.tf_summary_signatures import SIGNATURES
from tests.writer.event_files import iter_events
from tracklight.formats.tensor import decode_tensor


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need("keras", "tensorflow")
    path = tmp_path_factory.mktemp("logs")
    run_keras("summary_calls.py", path, backend="tensorflow")
    return path


def read_both(logdir: Path, name: str) -> tuple[list[Any], list[Any]]:
    """Return the events of both writers without their times."""
    both = []
    for writer in ("theirs", "ours"):
        events = list(iter_events(logdir / writer / name))
        for event in events:
            event.ClearField("wall_time")
        both.append(events)
    return both[0], both[1]


@pytest.mark.parametrize("name", SAME_BYTES)
def test_same_bytes(logdir: Path, name: str) -> None:
    # Value by value: TensorFlow writes the parts of a mesh as three events, tracklight as one.
    theirs, ours = (
        [(event.step, value.SerializeToString()) for event in part for value in event.summary.value]
        for part in read_both(logdir, name)
    )
    assert theirs
    assert ours == theirs


@pytest.mark.parametrize("name", SAME_PIXELS)
def test_same_pixels(logdir: Path, name: str) -> None:
    image_of = pytest.importorskip("PIL.Image")
    pictures = []
    for events in read_both(logdir, name):
        (value,) = events[0].summary.value
        width, height, *encoded = decode_tensor(value.tensor).tolist()
        pixels = [np.asarray(image_of.open(io.BytesIO(data))).tolist() for data in encoded]
        value.ClearField("tensor")
        pictures.append((width, height, pixels, events))
    assert pictures[0] == pictures[1]


@pytest.mark.parametrize("name", SAME_BUCKETS)
def test_same_buckets(logdir: Path, name: str) -> None:
    buckets = []
    theirs, ours = read_both(logdir, name)
    for events in (theirs, ours):
        (value,) = events[0].summary.value
        buckets.append(decode_tensor(value.tensor))
        assert value.metadata.plugin_data.plugin_name == b"histograms"
        value.ClearField("tensor")
        value.metadata.plugin_data.ClearField("content")
    assert buckets[0].dtype == buckets[1].dtype
    # The linspace of TensorFlow differs from NumPy's in the last digit.
    np.testing.assert_allclose(buckets[1], buckets[0], rtol=1e-12, atol=1e-14)
    assert ours == theirs


@pytest.mark.parametrize("name", SAME_CURVES)
def test_same_curves(logdir: Path, name: str) -> None:
    ((theirs,), (ours,)) = ([e.summary.value[0] for e in part] for part in read_both(logdir, name))
    assert (theirs.tag, ours.tag) == (b"a/pr_curves", b"a")
    mine, other = decode_tensor(ours.tensor), decode_tensor(theirs.tensor)
    assert mine.dtype == other.dtype
    np.testing.assert_allclose(mine, other, rtol=1e-6)
    # TensorFlow's metadata contains the name as well, because its tag differs.
    theirs.metadata.ClearField("display_name")
    assert ours.metadata == theirs.metadata


def test_recorded_signatures_agree_with_tensorflow() -> None:
    need("keras", "tensorflow")
    assert run_keras("tf_signatures_program.py", backend="tensorflow") == SIGNATURES
