"""The HTTP interface: range requests, caching, errors and security headers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

from tests.dashboards.audio.client import TAG, sine, write_clips
from tests.index import logs
from tests.server.waiting import wait_until
from tracklight.formats.media import encode_wav
from tracklight.logdir.watch import Watcher
from tracklight.server.app import create_app
from tracklight.server.auth import create_policy

CLIP = encode_wav(sine(440), 8000)
VALUE = {"run": "a", "tag": TAG, "index": 0}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    write_clips(tmp_path / "logs", [CLIP, b"RIFF....WAVEdata", b"<script>"])
    catalog = logs.open_catalog(tmp_path / "logs")
    with Watcher(catalog.roots) as watch:
        app = create_app(catalog, watch, create_policy("localhost"), page_dir=tmp_path)
        with TestClient(app, base_url="http://localhost") as client:
            wait_until(lambda: not client.get("/api/v1/status").json()["status"]["loading"])
            yield client
    catalog.close()


def test_serves_range_requests(client: TestClient) -> None:
    response = client.get("/api/v1/audio/clip", params=VALUE, headers={"range": "bytes=100-199"})
    assert (response.status_code, response.content) == (206, CLIP[100:200])
    assert response.headers["content-type"] == "audio/wav"
    assert response.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("route", ["about", "clip", "waveform", "spectrogram"])
def test_responses_with_fingerprint_are_immutable(client: TestClient, route: str) -> None:
    (steps,) = client.post("/api/v1/audio/steps", json={"tags": [TAG]}).json()["series"]
    params = {**VALUE, "fingerprint": steps["fingerprint"][0]}
    immutable = client.get(f"/api/v1/audio/{route}", params=params)
    assert "immutable" in immutable.headers["cache-control"]
    assert "no-store" in client.get(f"/api/v1/audio/{route}", params=VALUE).headers["cache-control"]
    other = client.get(
        f"/api/v1/audio/{route}", params={**params, "fingerprint": steps["fingerprint"][0] + 1}
    )
    assert other.status_code == 404 and "no longer has" in other.json()["error"]["message"]


def test_security_policy_allows_playback(client: TestClient) -> None:
    policy = client.get("/api/v1/status").headers["content-security-policy"]
    assert "media-src 'self' blob:" in policy


@pytest.mark.parametrize(
    ("route", "fields", "status"),
    [
        ("waveform", {"clip": 1}, 422),
        ("spectrogram", {"clip": 2}, 422),
        ("clip", {"clip": 9}, 404),
        ("clip", {"clip": -1}, 400),
        ("about", {"index": 7}, 404),
        ("waveform", {"columns": 0}, 400),
        ("waveform", {"columns": 10**9}, 400),
        ("spectrogram", {"width": 10**6}, 400),
        ("spectrogram", {"window": 1}, 400),
        ("spectrogram", {"scale": "sideways"}, 400),
        ("waveform", {"start": "x"}, 400),
    ],
)
def test_invalid_requests_get_an_error_message(
    client: TestClient, route: str, fields: dict[str, object], status: int
) -> None:
    response = client.get(f"/api/v1/audio/{route}", params={**VALUE, **fields})
    assert response.status_code == status, response.text
    assert response.json()["error"]["message"]


def test_unknown_files_are_downloaded_in_a_sandbox(client: TestClient) -> None:
    response = client.get("/api/v1/audio/clip", params={**VALUE, "clip": 2})
    assert response.headers["content-type"] == "application/octet-stream"
    assert "sandbox" in response.headers["content-security-policy"]


def test_arrays_are_lists_in_json(client: TestClient) -> None:
    response = client.get("/api/v1/audio/waveform", params={**VALUE, "columns": 4}).json()
    assert len(response["low"]) == 4
    np.testing.assert_allclose(response["high"], 1, atol=1e-3)
