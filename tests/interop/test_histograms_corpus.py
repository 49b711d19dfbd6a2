"""The Histograms dashboard has all tags and steps of real logs, and TensorBoard's percentiles."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.analysis.media.conftest import Open, open_log
from tests.dashboards.histograms.requests import query
from tests.interop.test_corpus import CASES, read_oracle, unpack
from tracklight.formats.values import decode_histograms
from tracklight.plugin import Context

__all__ = ["open_log"]

#: A tensor with two columns, which TensorBoard lists but cannot show.
NO_HISTOGRAM = "h/2cols"
#: Logs with decreasing edges or negative counts, which TensorBoard interpolates differently.
ODD = frozenset({"h/descending", "h/overlap", "h/negative_counts", "h/inf_edges", "h/nan"})


def iter_listed(oracle: Any) -> Iterator[tuple[str, str, Any]]:
    for run, about in oracle["multiplexer"]["runs"].items():
        for tag, series in about.get("plugins", {}).get("histograms", {}).items():
            yield run, tag, series


@pytest.mark.parametrize("case", [case for case in CASES if case != "live_snapshot"])
def test_has_all_tags_and_steps(case: str, tmp_path: Path, open_log: Open) -> None:
    listed = list(iter_listed(read_oracle(case)))
    assert listed
    context = open_log(unpack(case, tmp_path))
    for run, tag, series in listed:
        check(context, run, tag, series)


def check(context: Context, run: str, tag: str, expected: Any) -> None:
    chart = query(context, tag, runs=[run], max_points=2000, percentiles=True)
    (found,) = chart.series
    assert found.count == len(found.step) == expected["n"], (run, tag)
    if "steps" in expected:
        assert found.step.tolist() == expected["steps"]
    if tag == NO_HISTOGRAM:
        assert found.errors
        return
    assert not found.errors
    if isinstance(expected["last"].get("count"), float):
        # TensorBoard stores the buckets of old values as float32.
        assert_allclose(found.bucket_sum[-1], expected["last"]["count"], rtol=1e-6)
    if tag not in ODD:
        check_percentiles(context, run, tag, found)


def check_percentiles(context: Context, run: str, tag: str, found: Any) -> None:
    """Compare with TensorBoard's function on the same buckets."""
    compressor = pytest.importorskip("tensorboard.plugins.distribution.compressor")
    located = context.log.locate(run, tag)
    for place in range(0, len(found.index), max(1, len(found.index) // 20)):
        one = decode_histograms([context.log.read(located, int(found.index[place]))])
        buckets = np.stack([one.left, one.right, one.counts], axis=1)
        own = found.percentiles[9 * place : 9 * place + 9]
        if not one.counts.sum():
            assert np.isnan(own).all()
            continue
        published = [value for _, value in compressor.compress_histogram(buckets)]
        assert_allclose(own, published, rtol=1e-9, atol=1e-12)
