"""Snapshots of the CUDA allocator and XLA's buffers in the dashboard."""

from __future__ import annotations

import lzma
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.analysis.profiles.sample_captures import DATA, read_bytes
from tests.dashboards.profile.client import ProfileClient, open_client, put_xplane
from tracklight.dashboards.profile.schemas import CaptureUploadRequest
from tracklight.errors import FormatError

SNAPSHOT = lzma.decompress((DATA / "torch_memory_snapshot.pickle.xz").read_bytes())


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProfileClient]:
    logdir = tmp_path_factory.mktemp("memory")
    (logdir / "torch").mkdir()
    (logdir / "torch" / "rank0_memory_snapshot.pickle").write_bytes(SNAPSHOT)
    (logdir / "torch" / "replay_buffer.pickle").write_bytes(pickle.dumps([1]))
    put_xplane(logdir, "jax", read_bytes("jax_tf"))
    with open_client(logdir) as client:
        yield client


def test_snapshot_is_a_capture_with_memory_only(client: ProfileClient) -> None:
    row = client.row("torch")
    assert (row.kind, row.session) == ("snapshot", "rank0_memory_snapshot.pickle")
    assert [each.run for each in client.rows()] == ["jax", "torch"]
    tools = {row.name: row.empty_reason for row in client.get("tools", "torch").tools}
    assert tools.pop("memory") is None
    assert {reason.code for reason in tools.values()} == {"profile.snapshot_only"}


def test_snapshot_has_the_peak_by_category_and_stack(client: ProfileClient) -> None:
    (device,) = client.get("memory/snapshot", "torch").devices
    at_peak = {category.name: category.peak_bytes for category in device.categories}
    assert sum(at_peak.values()) == device.peak_bytes == 219_527_344
    assert at_peak["weights"] == 9_487_400 and at_peak["optimizer"] == 2 * at_peak["weights"]
    assert device.live.bytes.sum() == device.peak_bytes
    in_use = sum(category.bytes for category in device.categories)
    assert in_use.max() == device.peak_bytes and (device.reserved >= in_use).all()
    weights = device.live.categories.index("weights")
    assert "module.py" in device.live.stacks[weights]
    assert any("Backward" in location for location in device.live.locations)
    assert device.is_complete and device.out_of_memory[0].requested_bytes == 1 << 50


def test_blocks_fill_their_segments(client: ProfileClient) -> None:
    (device,) = client.get("memory/snapshot", "torch").devices
    segments = device.segments
    for segment, size in enumerate(segments.sizes.tolist()):
        own = segments.block_segments == segment
        assert segments.block_sizes[own].sum() == size
        used = own & (segments.block_categories >= 0)
        assert segments.block_sizes[used].sum() == segments.active[segment]
    assert segments.sizes.sum() == device.fragmentation.reserved
    assert segments.active.sum() == device.fragmentation.active


def test_programs_of_xla_have_their_buffers(client: ProfileClient) -> None:
    assert client.get("memory/snapshot", "jax").devices == []
    program = client.get("memory/buffers", "jax").programs[0]
    assert program.bytes.sum() == program.peak_bytes > 0
    assert program.kinds.count("temporary") > 10 and any(program.sources)
    tools = {row.name: row.empty_reason for row in client.get("tools", "jax").tools}
    assert tools["memory"] is None


def test_uploaded_pickle_of_another_program_is_refused(tmp_path: Path) -> None:
    client = ProfileClient(tmp_path)
    row = client.profile.upload(CaptureUploadRequest("dump.pkl", SNAPSHOT))
    assert row.kind == "snapshot"
    with pytest.raises(FormatError, match="not a memory snapshot"):
        client.profile.upload(CaptureUploadRequest("weights.pkl", pickle.dumps({"a": 1})))
    client.close()
