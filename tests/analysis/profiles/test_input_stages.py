"""What kinds of datasets do, and what helps them."""

from __future__ import annotations

import pytest

from tracklight.analysis.profiles.input_pipeline import classify_stage, get_stage_advice


@pytest.mark.parametrize(
    ("op", "work", "helps"),
    [
        ("Map", "preparing", "num_parallel_calls"),
        ("ParallelMapV2", "preparing", "already runs in parallel"),
        ("MapAndBatch", "preparing", "already runs in parallel"),
        ("TFRecord", "reading", "interleave"),
        ("ParallelInterleaveV4", "preparing", "cycle_length"),
        ("BatchV2", "gathering", "prefetch"),
        ("Prefetch", "handing over", "below it"),
        ("Unheard", "preparing", ""),
    ],
)
def test_what_helps_a_stage(op: str, work: str, helps: str) -> None:
    assert classify_stage(op) == work
    assert helps in get_stage_advice(op)
