"""What kinds of datasets do, and what helps them."""

from __future__ import annotations

import pytest

from tracklight.profiles.input.stages import advise, find_work


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
    assert find_work(op) == work
    assert helps in advise(op)
