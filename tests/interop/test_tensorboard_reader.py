"""``tracklight inspect --json`` agrees with TensorBoard's reader on generated logs."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import builders as b
from tracklight.cli import main

pytest.importorskip("tensorboard")

from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer

VERSION = b.record(b.event(b.blob(3, b"brain.Event:2"), wall=1.0))

OLD = [
    b.simple(0.5),
    b.image(b"png"),
    b.blob(6, b.blob(4, b"wav")),
    b.blob(5, b.double(3, 1.0), b.blob(6, bytes(8)), b.blob(7, b"\0\0\0\0\0\0\xf0\x3f")),
]
NEW = [
    b.tensor(b.FLOAT, b.single(5, 0.25)) + b.metadata("scalars"),
    b.tensor(b.DOUBLE, b.content(bytes(8))) + b.metadata("scalars"),
    b.tensor(b.INT64, b.shape(1), b.integer(10, 7)) + b.metadata("scalars"),
    b.tensor(b.FLOAT, b.single(5, 0.25)) + b.metadata("mine"),
    b.tensor(b.FLOAT, b.shape(2), b.single(5, 1.0)) + b.metadata("mine"),
    b.tensor(b.STRING, b.blob(8, b"hello")) + b.metadata("text"),
    b.image_tensor(b"png") + b.metadata("images"),
]
BARE = [b.tensor(b.FLOAT, b.single(5, 0.25)), b.tensor(b.FLOAT, b.shape(2), b.single(5, 1.0))]


def values(tags: list[str], bodies: list[bytes]) -> st.SearchStrategy[bytes]:
    return st.builds(
        lambda tag, body: b.summary(b.value(tag, body)),
        st.sampled_from(tags),
        st.sampled_from(bodies),
    )


FIELDS = st.one_of(
    values(["loss", "a/b", "ü", "x" * 200], [*OLD, *NEW]),
    # The plugin of a tag may be known late, but not from a value in the old format: for those,
    # tracklight only stores whether the first value of a tag is one.
    values(["late", "later"], [*BARE, *NEW]),
    st.builds(
        lambda numbers: b.summary(
            *(b.value(f"n{at}", b.simple(n)) for at, n in enumerate(numbers))
        ),
        st.lists(st.floats(width=32), max_size=4),
    ),
    st.just(b.summary(b.value("_hparams_", b.metadata("hparams")))),
    st.just(b.session(1)),
    st.just(b.session(2)),
    st.just(b.blob(4, b"")),
    st.just(b.blob(8, b.blob(1, b"trace"), b.blob(2, b"bytes"))),
)
STEPS = st.one_of(st.integers(-3, 9), st.integers(-(1 << 63), (1 << 63) - 1))
FILES = st.lists(st.tuples(FIELDS, STEPS), max_size=12)
RUNS = st.dictionaries(
    st.sampled_from([".", "train", "train/deep er", "ümlaut", "b,c:d"]),
    st.lists(FILES, min_size=1, max_size=3),
    min_size=1,
    max_size=3,
)


@settings(max_examples=40, deadline=None)
@given(runs=RUNS, tail=st.integers(0, 40))
def test_inspect_agrees_with_tensorboard(runs: dict[str, list[Any]], tail: int) -> None:
    with tempfile.TemporaryDirectory() as logdir:
        write(Path(logdir), runs, tail)
        assert read_with_tracklight(logdir) == read_with_tensorboard(logdir)


def write(logdir: Path, runs: dict[str, list[Any]], tail: int) -> None:
    """Write one event file per list of events; truncate the last one by ``tail`` bytes."""
    for run, files in runs.items():
        (logdir / run).mkdir(parents=True, exist_ok=True)
        wall = 1.7e9
        for number, events in enumerate(files):
            data = VERSION
            for field, step in events:
                wall += 1.0
                data += b.record(b.event(field, step=step, wall=wall))
            cut = tail if number == len(files) - 1 else 0
            path = logdir / run / f"events.out.tfevents.{1700000000 + number}.host"
            path.write_bytes(data[: max(0, len(data) - cut)])


def read_with_tracklight(logdir: str) -> Any:
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with contextlib.redirect_stdout(out):
        assert main(["inspect", "--logdir", logdir, "--json"]) == 0
    output = json.loads(out.buffer.getvalue())  # type: ignore[attr-defined]
    return {
        run: {
            tag: (it["plugin"], it["count"], stamp(it["first"]), stamp(it["last"]))
            for tag, it in about["tags"].items()
        }
        for run, about in output["runs"].items()
    }


def stamp(point: Any) -> tuple[int, float]:
    return point["step"], float(point["wall_time"])


def read_with_tensorboard(logdir: str) -> Any:
    reader = EventMultiplexer(size_guidance={"tensors": 0}, purge_orphaned_data=False)
    reader.AddRunsFromDirectory(logdir)
    reader.Reload()
    return {
        run: {tag: describe(reader, run, tag) for tag in tags["tensors"]}
        for run, tags in reader.Runs().items()
    }


def describe(reader: Any, run: str, tag: str) -> Any:
    values = reader.Tensors(run, tag)
    ends = [(value.step, value.wall_time) for value in (values[0], values[-1])]
    try:
        plugin = reader.SummaryMetadata(run, tag).plugin_data.plugin_name
    except KeyError:
        plugin = ""
    return plugin, len(values), *ends
