"""Captures that are uploaded to the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.analysis.profiles.sample_captures import DATA
from tests.dashboards.profile.client import ProfileClient, open_client
from tracklight.dashboards.profile.schemas import CaptureRequest, CaptureUploadRequest
from tracklight.errors import FormatError, LogError

TORCH = (DATA / "torch_f32.pt.trace.json.gz").read_bytes()


@pytest.fixture
def client(tmp_path: Path) -> Iterator[ProfileClient]:
    with open_client(tmp_path) as client:
        yield client


@pytest.mark.parametrize(
    ("name", "content", "kind", "label"),
    [
        ("rank0.json.gz", TORCH, "chrome", "rank0"),
        ("worker.17947.pt.trace.json.gz", TORCH, "chrome", "17947"),
        ("C:\\captures\\vm.xplane.pb", (DATA / "jax_f32.xplane.pb").read_bytes(), "xplane", "vm"),
        ("../../memory.prof", (DATA / "jax.memory.prof").read_bytes(), "pprof", "memory.prof"),
    ],
)
def test_uploaded_capture_is_listed_and_opened(
    client: ProfileClient, name: str, content: bytes, kind: str, label: str
) -> None:
    row = client.profile.upload(CaptureUploadRequest(name, content))
    assert (row.run, row.kind, row.session) == ("", kind, label)
    assert row in client.rows()
    if kind != "pprof":
        assert client.get("overview", "").steps.count == 4
    assert client.get("tools", "").tools


@pytest.mark.parametrize("name", ["model.pb", "notes.txt", "broken.json"])
def test_other_files_are_refused(client: ProfileClient, name: str) -> None:
    with pytest.raises(FormatError):
        client.profile.upload(CaptureUploadRequest(name, b"{}"))
    assert client.rows() == []


def test_oldest_uploads_are_deleted(client: ProfileClient) -> None:
    rows = [client.profile.upload(CaptureUploadRequest(f"{at}.json.gz", TORCH)) for at in range(9)]
    assert [row.session for row in client.rows()] == [str(at) for at in range(1, 9)]
    with pytest.raises(LogError, match="no longer"):
        client.profile.opening(CaptureRequest(rows[0].id))
    assert client.profile.opening(CaptureRequest(rows[-1].id)).state == "ready"
