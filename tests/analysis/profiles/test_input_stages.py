"""What kinds of tf.data stages do, and advice on them."""

from __future__ import annotations

import pytest

from tracklight.analysis.profiles.findings.advice import find_stage_advice
from tracklight.analysis.profiles.findings.input_pipeline import classify_stage


@pytest.mark.parametrize(
    ("op", "work", "advice"),
    [
        ("Map", "preparing", "num_parallel_calls"),
        ("ParallelMapV2", "preparing", "already runs in parallel"),
        ("MapAndBatch", "preparing", "already runs in parallel"),
        ("TFRecord", "reading", "interleave"),
        ("ParallelInterleaveV4", "preparing", "cycle_length"),
        ("BatchV2", "gathering", "prefetch"),
        ("Prefetch", "handing over", "below it"),
        ("Unknown", "preparing", ""),
    ],
)
def test_stage_work_and_advice(op: str, work: str, advice: str) -> None:
    assert classify_stage(op) == work
    assert advice in str(find_stage_advice(op) or "")
