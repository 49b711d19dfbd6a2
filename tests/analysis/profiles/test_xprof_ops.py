"""Op times by xprof's rules are equal to those of xprof."""

from __future__ import annotations

import pytest

from tests.analysis.profiles.sample_captures import CASES, read_case, read_oracle
from tracklight.analysis.profiles.xprof import compute_host_op_times

PS_PER_US = 1e6


@pytest.mark.parametrize("case", CASES)
def test_op_times_match_xprof(case: str) -> None:
    sums = compute_host_op_times(read_case(case), with_allocations=True)
    result = {
        name: (op.type, op.count, op.total_ps / PS_PER_US, op.self_ps / PS_PER_US)
        for name, op in sums.ops.items()
    }
    idle = sums.idle_ps / PS_PER_US
    expected = {
        op["name"]: (op["type"], op["count"], op["total_us"], op["self_us"])
        for op in read_oracle()[case]["ops"]
    }
    assert expected.pop("IDLE")[2] == pytest.approx(idle, abs=1e-6)
    assert result.keys() == expected.keys()
    for name, (kind, count, total, self_us) in expected.items():
        assert result[name][:2] == (kind, count)
        assert result[name][2:] == pytest.approx((total, self_us), abs=1e-6)


def test_allocations_do_not_count_as_calls() -> None:
    """xprof shows twelve calls in six steps, because each call allocates memory once."""
    ops = {
        rules: {name: op for name, op in result.ops.items() if "Conv2DBackpropInput" in op.type}
        for rules, result in (
            ("xprof", compute_host_op_times(read_case("cnn"), with_allocations=True)),
            ("ours", compute_host_op_times(read_case("cnn"))),
        )
    }
    assert ops["ours"] and ops["ours"].keys() == ops["xprof"].keys()
    for name, op in ops["ours"].items():
        assert (op.count, ops["xprof"][name].count) == (6, 12)
