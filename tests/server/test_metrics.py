from __future__ import annotations

import re

from starlette.testclient import TestClient

SAMPLE = re.compile(r'([a-z_]+)(\{[a-z]+="[^"]*"\})? (\S+)')


def read(client: TestClient) -> dict[str, float]:
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    samples = [line for line in answer.text.splitlines() if not line.startswith("#")]
    found = [SAMPLE.fullmatch(line) for line in samples]
    assert None not in found
    return {f"{it[1]}{it[2] or ''}": float(it[3]) for it in found if it}


def test_the_log_is_counted(client: TestClient) -> None:
    counts = read(client)
    assert counts["tracklight_runs"] == 2
    assert counts["tracklight_points"] == 7
    assert counts["tracklight_loading"] == counts["tracklight_failing"] == 0


def test_answers_are_counted(client: TestClient) -> None:
    before = read(client)
    client.get("/api/v1/runs")
    client.get("/api/v1/nothing")
    after = read(client)
    assert after['tracklight_answers_total{status="200"}'] == (
        before['tracklight_answers_total{status="200"}'] + 2
    )
    assert after['tracklight_answers_total{status="404"}'] == 1
    total = after["tracklight_answer_seconds_count"]
    assert total == after['tracklight_answer_seconds_bucket{le="+Inf"}']
    assert total == before["tracklight_answer_seconds_count"] + 3
    assert after["tracklight_answer_seconds_sum"] > 0


def test_every_metric_is_described(client: TestClient) -> None:
    text = client.get("/metrics").text
    described = set(re.findall(r"# TYPE (\S+) ", text))
    names = {re.sub(r"_(bucket|sum|count)$", "", name) for name in re.findall(r"(?m)^\w+", text)}
    assert names == described
