"""Evaluations per slice: ten million rows from Parquet, and a result of 5,000 slices.

The evaluation runs in a process of its own on two CPUs. Its elapsed time, CPU time and peak memory
are reported; on a busy machine only the CPU time means something.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks import board
from benchmarks.browser import open_page, start_chromium, time_first
from benchmarks.make_logs import get_log
from benchmarks.report import Row, format_s
from benchmarks.website import Website

_CHUNK = 1_000_000
_THRESHOLDS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
_METRICS = [
    "accuracy",
    "precision",
    "recall",
    "auc",
    "false_positive_rate",
    "false_negative_rate",
    "positive_rate",
    "negative_rate",
    "false_discovery_rate",
    "false_omission_rate",
]
_SLICES = ["city", "group", ["group", "region"]]  # 100, 20 and 80 slices
_MAX_S, _MAX_GB = 20.0, 1.0
_PAGE_SLICES = 5_000
_REQUESTS = 5
_COLUMNS = "application/vnd.tracklight.columns"

_FILTER = """
async text => {
  const box = document.querySelector('input[aria-label="Filter slices"]');
  const read = () => [...document.querySelectorAll('[role=status]')]
    .map(status => status.textContent).find(text => /of [0-9,]+ slices/.test(text));
  const before = read();
  const start = performance.now();
  box.value = text;
  box.dispatchEvent(new Event('input', { bubbles: true }));
  while (read() === before) await new Promise(resolve => requestAnimationFrame(resolve));
  // A task that is put off from within a frame runs once that frame is painted.
  await new Promise(resolve => setTimeout(resolve));
  return performance.now() - start;
}
"""


def measure(quick: bool) -> Iterator[Row]:
    rows = 200_000 if quick else 10_000_000
    folder = get_log(f"fairness-{rows}", lambda target: write_predictions(target, rows))
    what = f"Evaluation, {rows:,} rows x 201 slices x 9 thresholds x 10 metrics"
    for method in ("jackknife", "bootstrap"):
        taken = _run(folder, method)
        text = f"{format_s(taken['elapsed_s'])} (CPU {format_s(taken['cpu_s'])})"
        must = f"under {_MAX_S:g} s" if method == "jackknife" else ""
        reached = taken["elapsed_s"] < _MAX_S if must else None
        yield Row(f"{what}, {method}", text, must=must, reached=reached)
        peak = taken["peak_gb"]
        yield Row("… peak memory", f"{peak:.2f} GB", must=f"under {_MAX_GB:g} GB",
                  reached=peak < _MAX_GB)  # fmt: skip
    log = get_log(f"fairness-slices-{_PAGE_SLICES}", write_result)
    with board.start_tracklight(log) as site:
        first_s, next_s, bytes_ = _request_result(site)
        opened_s, filter_s = _open_slices(site)
    yield Row(
        f"Result of {_PAGE_SLICES:,} slices x 82 values: first HTTP response, without the page",
        f"{format_s(first_s)}, {bytes_ / 1e6:.1f} MB",
        must="under 1 s",
        reached=first_s < 1,
    )
    yield Row("… differences of one metric to a baseline", format_s(next_s))
    yield Row("… navigation to the table of slices in Chromium", format_s(opened_s),
              must="under 1 s", reached=opened_s < 1)  # fmt: skip
    yield Row("… filter of the slices, keystroke to repaint, slowest", format_s(filter_s),
              must="under 100 ms", reached=filter_s < 0.1)  # fmt: skip


def write_predictions(folder: Path, rows: int) -> None:
    """Write predictions as Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    groups = np.array([f"group {number}" for number in range(20)])
    cities = np.array([f"city {number}" for number in range(100)])
    regions = np.array(["north", "south", "east", "west"])
    writer = None
    for start in range(0, rows, _CHUNK):
        count = min(_CHUNK, rows - start)
        label = rng.integers(0, 2, count)
        table = pa.table(
            {
                "label": label.astype(np.int8),
                "score": np.clip(rng.normal(0.4 + 0.2 * label, 0.2), 0, 1).astype(np.float32),
                "group": groups[rng.integers(0, len(groups), count)],
                "city": cities[rng.integers(0, len(cities), count)],
                "region": regions[rng.integers(0, len(regions), count)],
            }
        )
        if writer is None:
            writer = pq.ParquetWriter(folder / "predictions.parquet", table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def write_result(folder: Path) -> None:
    """Write the result of an evaluation with many slices to a run."""
    from tracklight.fairness import evaluate

    rng = np.random.default_rng(0)
    rows = 100 * _PAGE_SLICES
    label = rng.integers(0, 2, rows)
    data = {
        "label": label,
        "score": np.clip(rng.normal(0.4 + 0.2 * label, 0.2), 0, 1),
        "id": np.arange(rows) % _PAGE_SLICES,
    }
    result = evaluate(data, label="label", prediction="score", slices=["id"], metrics=_METRICS)
    result.write(folder / "run")


def _run(folder: Path, method: str) -> dict[str, float]:
    output = subprocess.check_output(
        [sys.executable, "-m", "benchmarks.fairness", str(folder), method], text=True
    )
    taken: dict[str, float] = json.loads(output.splitlines()[-1])
    return taken


def _request_result(site: Website) -> tuple[float, float, int]:
    """Return the seconds until a whole result and some differences, and the size of the result."""
    rows: list[dict[str, str]] = []
    while not rows:
        rows = site.post("api/v1/fairness/evaluations", {})["evaluations"]
        time.sleep(0.1)
    request = {"id": rows[0]["id"]}
    began = time.perf_counter()
    size = _read_columns(site, f"api/v1/fairness/result?id={rows[0]['id']}")
    first_s = time.perf_counter() - began
    times = []
    for _ in range(_REQUESTS):
        began = time.perf_counter()
        site.post("api/v1/fairness/difference", {**request, "columns": [0]})
        times.append(time.perf_counter() - began)
    return first_s, float(np.median(times)), size


def _open_slices(site: Website) -> tuple[float, float]:
    """Return the seconds until the table of slices is painted, and those of the slowest filter."""
    with start_chromium() as browser, open_page(browser) as page:
        url = f"{site.url}?tab=fairness&fairness-view=slices"
        opened_s = time_first(page, url, '[role=table][aria-label="Slices"] [role=row] label')
        slowest = max(page.evaluate(_FILTER, text) for text in ("1", "12", "123", "4", ""))
    return opened_s, float(slowest) / 1000


def _read_columns(site: Website, path: str) -> int:
    """Fetch a whole response as binary columns, as the page does; return its size in bytes."""
    request = urllib.request.Request(site.url + path, headers={"Accept": _COLUMNS})
    with urllib.request.urlopen(request, timeout=60) as response:
        return len(response.read())


def main() -> None:
    """Evaluate in this process and print the figures as JSON."""
    from tracklight.fairness import evaluate

    folder, method = sys.argv[1:]
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    began, cpu = time.perf_counter(), time.process_time()
    result = evaluate(
        Path(folder),
        label="label",
        prediction="score",
        slices=_SLICES,
        thresholds=_THRESHOLDS,
        metrics=_METRICS,
        intervals="jackknife" if method == "jackknife" else "bootstrap",
    )
    assert len(result.slices) == 201
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    peak_gb = peak / 1e9 if sys.platform == "darwin" else peak / 1e6
    elapsed_s, cpu_s = time.perf_counter() - began, time.process_time() - cpu
    print(json.dumps({"elapsed_s": elapsed_s, "cpu_s": cpu_s, "peak_gb": peak_gb}))


if __name__ == "__main__":
    main()
