"""Download of buckets, and static export."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.analysis.media.conftest import Open
from tests.dashboards.histograms.requests import request, write
from tests.index.logs import histogram
from tracklight.analysis.media import StepsResponse
from tracklight.dashboards.histograms import BucketsResponse, HistogramChartRow, Histograms
from tracklight.errors import LogError, UsageError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tables = ([[0.5, 1, step], [1, 3, 0.25]] for step in range(1500))
    write(tmp_path, "a,b", *(histogram(step, table) for step, table in enumerate(tables)))
    write(tmp_path, "c", histogram(7, [], wall=3.5), histogram(8, [[-1, 1, 9]], wall=4.5))
    return tmp_path


def test_csv_has_every_bucket(folder: Path, open_log: Open) -> None:
    blob = request(open_log(folder), "table", tags=["w"])
    lines = blob.content.decode().splitlines()
    assert lines[:3] == [
        "run,tag,step,wall_time,left,right,count",
        '"a,b",w,0,1700000000.0,0.5,1.0,0.0',
        '"a,b",w,0,1700000000.0,1.0,3.0,0.25',
    ]
    assert lines[-1] == "c,w,8,4.5,-1.0,1.0,9.0"
    assert len(lines) == 1 + 2 * 1500 + 1


def test_json_of_a_range_of_one_run(folder: Path, open_log: Open) -> None:
    fields = {"tags": ["w"], "runs": ["a,b"], "start": 3, "stop": 4, "format": "json"}
    (series,) = json.loads(request(open_log(folder), "table", **fields).content)
    assert series["step"] == [3, 3, 4, 4]
    assert series["count"] == [3, 0.25, 4, 0.25]


def test_too_large_download_raises_usage_error(
    folder: Path, open_log: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracklight.dashboards.histograms.MAX_DOWNLOAD_BYTES", 1000)
    with pytest.raises(UsageError, match="select fewer runs"):
        request(open_log(folder), "table", tags=["w"])


def test_static_export_has_charts_and_buckets(folder: Path, open_log: Open) -> None:
    parts = dict(Histograms(open_log(folder)).export_static(["a,b"]))
    steps, chart = parts["steps/w"], parts["charts/w"]
    assert isinstance(steps, StepsResponse) and isinstance(chart, HistogramChartRow)
    (series,) = chart.series
    assert series.count == 1500
    assert series.step.tolist() == steps.series[0].step.tolist()
    assert series.percentiles is not None and series.bins is not None
    for index, mark, step in zip(series.index, series.fingerprint, series.step, strict=True):
        exact = parts[f"buckets?run=a%2Cb&tag=w&index={index}&fingerprint={mark}"]
        assert isinstance(exact, BucketsResponse)
        assert (exact.step, exact.counts.tolist()) == (step, [step, 0.25])


def test_missing_histogram_raises_log_error(folder: Path, open_log: Open) -> None:
    with pytest.raises(LogError, match="no longer has"):
        request(open_log(folder), "buckets", run="c", tag="w", index=5)
