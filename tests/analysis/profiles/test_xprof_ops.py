"""By xprof's rules, our ops are xprof's, to the last digit that it prints."""

from __future__ import annotations

import pytest

from tests.analysis.profiles.sample_captures import CASES, read_case, read_oracle
from tracklight.analysis.profiles.xprof import compute_host_op_times

PS_A_US = 1e6


@pytest.mark.parametrize("case", CASES)
def test_the_ops_of_the_host(case: str) -> None:
    sums = compute_host_op_times(read_case(case), with_allocations=True)
    found = {
        name: (op.type, op.count, op.total_ps / PS_A_US, op.self_ps / PS_A_US)
        for name, op in sums.ops.items()
    }
    idle = sums.idle_ps / PS_A_US
    expected = {
        op["name"]: (op["type"], op["count"], op["total_us"], op["self_us"])
        for op in read_oracle()[case]["ops"]
    }
    assert expected.pop("IDLE")[2] == pytest.approx(idle, abs=1e-6)
    assert found.keys() == expected.keys()
    for name, (kind, count, total, own) in expected.items():
        assert found[name][:2] == (kind, count)
        assert found[name][2:] == pytest.approx((total, own), abs=1e-6)


def test_memory_is_not_counted_as_calls_of_ops() -> None:
    """xprof shows twelve calls for six steps, as each takes memory once."""
    ops = {
        shown: {each: op for each, op in found.ops.items() if "Conv2DBackpropInput" in op.type}
        for shown, found in (
            ("xprof", compute_host_op_times(read_case("cnn"), with_allocations=True)),
            ("ours", compute_host_op_times(read_case("cnn"))),
        )
    }
    assert ops["ours"] and ops["ours"].keys() == ops["xprof"].keys()
    for each, op in ops["ours"].items():
        assert (op.count, ops["xprof"][each].count) == (6, 12)
