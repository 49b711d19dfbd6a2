"""Costs and counts of calls of cuDNN and cuBLAS, compared with the captured model."""

from __future__ import annotations

from math import isnan

import pytest

from tests.analysis.profiles.sample_captures import read_case
from tests.formats.profiles.test_hlo import encode_instruction, encode_module, encode_shape
from tracklight.analysis.profiles.ops import compute_op_stats
from tracklight.analysis.profiles.roofline import (
    InstructionTime,
    compute_instruction_cost,
    measure_instruction_times,
)
from tracklight.analysis.profiles.xla_programs import XlaProgram, list_programs, map_instructions
from tracklight.formats.profiles.hlo import parse_hlo_module

STEPS = 12


def list_times(case: str) -> list[InstructionTime]:
    trace = read_case(case)
    return measure_instruction_times(trace, map_instructions(trace, list_programs(trace)))


def test_convolutions_and_their_gradients_cost_the_same() -> None:
    """The model has four convolutions of 3x3 with 64 channels, of 32 images of 56x56 pixels."""
    calls = [each for each in list_times("jax_cnn") if each.ref.instruction.target]
    kinds = sorted(each.ref.instruction.target for each in calls)
    assert kinds == sorted(
        ["__cudnn$convForward"] * 4
        + ["__cudnn$convBackwardFilter"] * 4
        + ["__cudnn$convBackwardInput"] * 3  # the first layer needs no gradient of its input
    )
    image, filter = 32 * 56 * 56 * 64, 3 * 3 * 64 * 64
    for call in calls:
        assert call.cost.flops == 2 * image * filter / 64
        assert call.cost.bytes == 4 * (2 * image + filter)  # not the workspace
        assert call.run_count == STEPS


def test_ops_are_counted_by_call_not_by_kernel() -> None:
    """A gradient of a filter runs three kernels."""
    stats = compute_op_stats(read_case("jax_cnn"))
    counts = {
        op.name: int(count)
        for op, count in zip(stats.ops, stats.counts, strict=True)
        if op.name.startswith("cudnn-conv")
    }
    assert len(counts) == 11
    assert set(counts.values()) == {STEPS}


def test_matrix_products_of_cublas() -> None:
    """The products of queries, keys and values with 1,024 rows are one product."""
    calls = [each for each in list_times("jax_tf") if each.ref.instruction.target]
    assert {each.run_count for each in calls} == {STEPS}
    by_shape = {each.ref.instruction.shape.parts[0].dimensions: each.cost.flops for each in calls}
    assert by_shape == {
        (1536, 1024): 2 * 1536 * 1024 * 512,
        (1024, 512): 2 * 1024 * 512 * 512,
        (1536, 512): 2 * 1536 * 512 * 1024,
    }


@pytest.mark.parametrize("target", ["__cublas$lt$matmul", "__cudnn$fmhaSoftmax", "topk"])
def test_cost_of_other_calls_is_unknown(target: str) -> None:
    shape = encode_shape(8, 8)
    module = encode_module(
        encode_instruction(name=b"a", opcode=b"parameter", shape=shape, id=1),
        encode_instruction(
            name=b"call",
            opcode=b"custom-call",
            shape=shape,
            id=2,
            operand_ids=[1, 1],
            custom_call_target=target.encode(),
        ),
    )
    program = XlaProgram(parse_hlo_module(module))
    assert isnan(compute_instruction_cost(program, program.instructions["call"]).flops)
