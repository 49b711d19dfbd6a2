"""Steps by xprof's rules are equal to those of xprof."""

from __future__ import annotations

import pytest

from tests.analysis.profiles.sample_captures import CASES, read_case, read_oracle
from tracklight.analysis.profiles.xprof import list_xprof_steps

PS_PER_MS = 1e9


@pytest.mark.parametrize("case", CASES)
def test_steps_match_xprof(case: str) -> None:
    steps = [
        {
            "name": step.name,
            "compute_ms": step.compute_ps / PS_PER_MS,
            "input_ms": step.input_ps / PS_PER_MS,
            "other_ms": step.other_ps / PS_PER_MS,
            "total_ms": step.total_ps / PS_PER_MS,
        }
        for step in list_xprof_steps(read_case(case))
    ]
    expected = [pytest.approx(step, abs=1e-9) for step in read_oracle()[case]["steps"]]
    assert steps == expected
