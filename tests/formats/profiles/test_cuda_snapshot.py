"""Memory snapshots are read without running code, and damaged ones are refused in one sentence."""

from __future__ import annotations

import os
import pickle
import random
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.profiles.snapshot_builder import CachingAllocator
from tracklight.errors import FormatError
from tracklight.formats.checkpoints.torch_file import load_plain_pickle
from tracklight.formats.profiles import memory_profiles
from tracklight.formats.profiles.memory_profiles import parse_cuda_snapshot

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=20,
)


def make_allocator() -> CachingAllocator:
    allocator = CachingAllocator()
    kept = allocator.allocate(3000, "weights")
    allocator.free(allocator.allocate(5000, "activations"))
    allocator.allocate(700, "gradients")
    assert kept
    return allocator


SNAPSHOT = make_allocator().dump()


@given(PLAIN, st.integers(3, 5))
def test_plain_values_are_those_that_were_pickled(value: Any, protocol: int) -> None:
    assert load_plain_pickle(pickle.dumps(value, protocol)) == value


class Evil:
    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.path}",)


@pytest.mark.parametrize("protocol", [0, 1, 2, 4, 5])
def test_objects_are_refused_and_nothing_runs(tmp_path: Path, protocol: int) -> None:
    path = tmp_path / "touched"
    content = {"segments": [Evil(str(path))], "device_traces": []}
    with pytest.raises(FormatError, match="not supported"):
        parse_cuda_snapshot(pickle.dumps(content, protocol))
    assert not path.exists()


@pytest.mark.parametrize(
    "value", [Path("x"), {1, 2}.__class__, 1j, range(3), CachingAllocator, print], ids=repr
)
def test_only_containers_texts_and_numbers_are_accepted(value: Any) -> None:
    with pytest.raises(FormatError, match="not supported"):
        load_plain_pickle(pickle.dumps([value], 4))


@pytest.mark.parametrize(
    "change",
    [
        {"segments": None},
        {"segments": [1]},
        {"segments": [{"total_size": "1", "blocks": []}]},
        {"segments": [{"total_size": 1, "blocks": [{"size": 1, "state": "gone"}]}]},
        {"segments": [{"total_size": 1 << 70, "blocks": []}]},
        {"device_traces": {}},
        {"device_traces": [[{"action": 1}]]},
        {"device_traces": [["alloc"]]},
        {"device_traces": [[{"action": "alloc", "size": 1.5}]]},
        {"device_traces": [[{"action": "alloc", "frames": "main"}]]},
        {"device_traces": [[{"action": "alloc", "frames": [["main"]]}]]},
    ],
    ids=repr,
)
def test_other_structures_are_refused(change: dict[str, Any]) -> None:
    content = make_allocator().make_snapshot() | change
    with pytest.raises(FormatError, match="snapshot is invalid"):
        parse_cuda_snapshot(pickle.dumps(content))


@pytest.mark.parametrize("content", [[], {}, {"state_dict": {}}, "snapshot"], ids=repr)
def test_other_pickles_are_refused(content: Any) -> None:
    with pytest.raises(FormatError, match="not a memory snapshot"):
        parse_cuda_snapshot(pickle.dumps(content))


def test_every_truncation_is_refused() -> None:
    for size in range(len(SNAPSHOT)):
        with pytest.raises(FormatError):
            parse_cuda_snapshot(SNAPSHOT[:size])


def test_random_damage_is_refused_or_read() -> None:
    chance = random.Random(7)
    for _ in range(3000):
        data = bytearray(SNAPSHOT)
        for _ in range(chance.randint(1, 8)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        try:
            parse_cuda_snapshot(bytes(data))
        except FormatError:
            continue


def test_values_that_refer_to_each_other_cost_no_time() -> None:
    """A list of lists of lists … of the same list would have 10 ** 40 elements."""
    value: list[Any] = []
    for _ in range(40):
        value = [value] * 10
    loop: list[Any] = []
    loop.append(loop)
    began = time.perf_counter()
    for content in ({"segments": value}, {"segments": loop}, {"segments": [], "other": value}):
        try:
            parse_cuda_snapshot(pickle.dumps(content))
        except FormatError:
            continue
    assert time.perf_counter() - began < 60


def test_shared_lists_cannot_exceed_the_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_profiles, "MAX_BLOCKS", 50)
    monkeypatch.setattr(memory_profiles, "MAX_CALLS", 50)
    blocks = [{"size": 1, "state": "inactive"}] * 20
    segment = {"total_size": 20, "blocks": blocks}
    parse_cuda_snapshot(pickle.dumps({"segments": [segment] * 2}))
    with pytest.raises(FormatError, match="blocks"):
        parse_cuda_snapshot(pickle.dumps({"segments": [segment] * 3}))
    calls = [{"action": "alloc"}] * 20
    with pytest.raises(FormatError, match="device_traces"):
        parse_cuda_snapshot(pickle.dumps({"segments": [], "device_traces": [calls] * 3}))


def test_size_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_profiles, "MAX_SNAPSHOT_BYTES", len(SNAPSHOT) - 1)
    with pytest.raises(FormatError, match="more than"):
        parse_cuda_snapshot(SNAPSHOT)


def test_snapshots_of_older_versions_are_read() -> None:
    """Before PyTorch 2.1, blocks have a history instead of frames, and no address."""
    frames = [{"name": "forward", "filename": "/x/model.py", "line": 3}]
    history = [{"addr": 4096, "real_size": 900, "frames": frames}]
    blocks = [
        {"size": 1024, "state": "active_allocated", "history": history},
        {"size": 1024, "state": "inactive"},
    ]
    segment = {"address": 4096, "total_size": 2048, "segment_type": "small", "blocks": blocks}
    snapshot = parse_cuda_snapshot(pickle.dumps({"segments": [segment], "device_traces": []}))
    used, free = snapshot.segments[0].blocks
    assert (used.address, used.requested_size, free.address) == (4096, 900, 5120)
    assert snapshot.stacks[used.stack][0] == ("forward", "/x/model.py", 3)
