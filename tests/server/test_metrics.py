from __future__ import annotations

import re

import pytest
from starlette.testclient import TestClient

from tracklight.logdir.object_store import RequestMeter
from tracklight.server import middleware

SAMPLE = re.compile(r'([a-z_]+)(\{[a-z]+="[^"]*"\})? (\S+)')


def read(client: TestClient) -> dict[str, float]:
    response = client.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    samples = [line for line in response.text.splitlines() if not line.startswith("#")]
    found = [SAMPLE.fullmatch(line) for line in samples]
    assert None not in found
    return {f"{it[1]}{it[2] or ''}": float(it[3]) for it in found if it}


def test_log_metrics(client: TestClient) -> None:
    counts = read(client)
    assert counts["tracklight_runs"] == 2
    assert counts["tracklight_points"] == 7
    assert counts["tracklight_loading"] == counts["tracklight_failing"] == 0


def test_requests_are_counted(client: TestClient) -> None:
    before = read(client)
    client.get("/api/v1/runs")
    client.get("/api/v1/nothing")
    after = read(client)
    assert after['tracklight_http_requests_total{status="200"}'] == (
        before['tracklight_http_requests_total{status="200"}'] + 2
    )
    assert after['tracklight_http_requests_total{status="404"}'] == 1
    total = after["tracklight_http_request_duration_seconds_count"]
    assert total == after['tracklight_http_request_duration_seconds_bucket{le="+Inf"}']
    assert total == before["tracklight_http_request_duration_seconds_count"] + 3
    assert after["tracklight_http_request_duration_seconds_sum"] > 0


def test_requests_to_stores_are_counted(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    meter = RequestMeter()
    monkeypatch.setattr(middleware, "METER", meter)
    assert "tracklight_store_budget" not in read(client)
    meter.set_budget(3600)
    meter.add("list", 600)
    meter.add("read", 1, 4096)
    meter.add_retry()
    counts = read(client)
    assert counts['tracklight_store_requests_total{operation="list"}'] == 600
    assert counts['tracklight_store_requests_total{operation="stat"}'] == 0
    assert counts['tracklight_store_bytes_total{operation="read"}'] == 4096
    assert counts["tracklight_store_retries_total"] == 1
    assert counts["tracklight_store_budget"] == 3600
    assert counts["tracklight_store_budget_remaining"] == pytest.approx(2999, abs=30)


def test_all_metrics_have_a_type(client: TestClient) -> None:
    text = client.get("/metrics").text
    described = set(re.findall(r"# TYPE (\S+) ", text))
    names = {re.sub(r"_(bucket|sum|count)$", "", name) for name in re.findall(r"(?m)^\w+", text)}
    assert names == described
