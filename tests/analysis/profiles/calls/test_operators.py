"""Operators and modules against ``key_averages()`` of the profiler that recorded them."""

from __future__ import annotations

import json
import lzma
from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.analysis.profiles.raw_captures import read_raw
from tests.analysis.profiles.sample_captures import DATA, open_file
from tracklight.analysis.profiles.calls import (
    Operators,
    format_shapes,
    has_modules,
    summarize_operators,
)

CAPTURE = "torch_modules.pt.trace.json.gz"
US = 1_000_000
#: A row of the profiler itself, which is not in the exported trace. PyTorch counts it as a callee
#: of whichever op runs, and attributes unrelated kernels to it.
OVERHEAD = "Activity Buffer Request"


@cache
def read_averages(grouping: str) -> list[list[Any]]:
    """Return rows of name, shapes, calls, self and total time on host and device in µs."""
    content = lzma.decompress((DATA / "torch_modules.averages.json.xz").read_bytes())
    rows: list[list[Any]] = json.loads(content)[grouping]
    return rows


def get_rows(operators: Operators) -> dict[tuple[str, str], list[float]]:
    columns = (
        operators.counts,
        operators.host_self_ps / US,
        operators.host_total_ps / US,
        operators.device_self_ps / US,
        operators.device_total_ps / US,
    )
    keys = zip(operators.names, operators.groups, strict=True)
    return dict(zip(keys, np.column_stack(columns).tolist(), strict=True))


def test_equals_key_averages() -> None:
    ours = get_rows(summarize_operators(open_file(CAPTURE)))
    rows = read_averages("name")
    (overhead,) = ([row[5], row[6], row[3]] for row in rows if row[0] == OVERHEAD)
    assert {(row[0], "") for row in rows if row[0] != OVERHEAD} == ours.keys()
    equal = 0
    for name, _, *expected in rows:
        if name == OVERHEAD:
            continue
        difference = np.array(expected) - ours[name, ""]
        if np.abs(difference).max() < 0.01:
            equal += 1
            continue
        # The callers of the overhead: its time is missing in the self time of the innermost, and
        # its kernels are added to the total time of all.
        assert np.abs(difference[[0, 2, 3]]).max() < 0.01
        assert min(abs(difference[1]), abs(difference[1] + overhead[2])) < 0.01
        assert difference[4] == pytest.approx(overhead[1], abs=0.01)
    assert equal == len(ours) - 3


def test_equals_key_averages_by_input_shape() -> None:
    ours = get_rows(summarize_operators(open_file(CAPTURE), "shape"))
    compared = 0
    for name, shapes, *expected in read_averages("shape"):
        key = name, format_shapes(shapes.replace("'", '"')) if shapes != "[]" else ""
        if key in ours and not name.startswith(("my_step", "aten::randn", "aten::normal_")):
            assert ours[key] == pytest.approx(expected, abs=0.01), key
            compared += 1
    assert compared > 100
    assert ("aten::mm", "[1024, 256], [256, 512]") in ours


def test_device_time_of_all_operators_is_that_of_all_kernels() -> None:
    work = [event for event in read_raw(DATA / CAPTURE) if event.on_device]
    kernels = [event for event in work if event.category != "gpu_user_annotation"]
    for grouping in ("name", "shape", "stack"):
        operators = summarize_operators(open_file(CAPTURE), grouping)
        total = sum(event.end_ps - event.start_ps for event in kernels)
        assert int(operators.device_self_ps.sum()) == pytest.approx(total, rel=1e-6)


def test_groups_by_stack() -> None:
    operators = summarize_operators(open_file(CAPTURE), "stack")
    rows = get_rows(operators)
    stacks = [stack.split("\n") for name, stack in rows if name == "aten::addmm"]
    assert len(stacks) == 3  # one for each linear layer
    for stack in stacks:
        assert stack[0] == "<built-in function linear>"
        assert stack[1].startswith("torch/nn/modules/linear.py(")
        assert len(stack) == 5
    by_name = get_rows(summarize_operators(open_file(CAPTURE)))
    calls = sum(row[0] for (name, _), row in rows.items() if name == "aten::addmm")
    assert calls == by_name["aten::addmm", ""][0] == 9


def test_modules_form_a_tree_with_the_time_of_their_kernels() -> None:
    trace = open_file(CAPTURE)
    assert has_modules(trace)
    modules = summarize_operators(trace, "module")
    tree = list(zip(modules.depths.tolist(), modules.names, strict=True))
    assert sorted(tree) == sorted([
        (0, "Sequential_0"), (1, "Linear_0"), (1, "ReLU_0"), (1, "Sequential_1"),
        (2, "Linear_1"), (2, "GELU_0"), (1, "Linear_2"),
    ])  # fmt: skip
    at = {name: row for row, name in enumerate(modules.names)}
    assert at["Sequential_1"] < min(at["Linear_1"], at["GELU_0"])
    by_name = get_rows(summarize_operators(trace))
    device_us = {name: modules.device_total_ps[row] / US for name, row in at.items()}
    # All layers are called in the forward pass, where each op belongs to one kind of module.
    linear = device_us["Linear_0"] + device_us["Linear_1"] + device_us["Linear_2"]
    assert linear == pytest.approx(by_name["aten::linear", ""][4])
    assert device_us["GELU_0"] == pytest.approx(by_name["aten::gelu", ""][4])
    assert device_us["Sequential_1"] == pytest.approx(device_us["Linear_1"] + device_us["GELU_0"])
    calls = [event for event in read_raw(DATA / CAPTURE) if event.name == "nn.Module: Linear_1"]
    assert modules.counts[at["Linear_1"]] == len(calls) == 3
    expected_ps = sum(event.end_ps - event.start_ps for event in calls)
    assert modules.host_total_ps[at["Linear_1"]] == pytest.approx(expected_ps, rel=1e-4)
