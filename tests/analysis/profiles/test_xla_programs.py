"""XLA programs: mapping, cost, time and text of their instructions."""

from __future__ import annotations

import pytest

from tests.analysis.profiles.sample_captures import open_file, read_case
from tests.analysis.profiles.trace_builder import DEVICE, EventSpec, make_trace
from tracklight.analysis.profiles.roofline import (
    InstructionTime,
    compute_instruction_cost,
    measure_instruction_times,
)
from tracklight.analysis.profiles.xla_programs import (
    XlaProgram,
    classify_instruction,
    format_shape,
    get_matmul_types,
    iter_program_lines,
    list_programs,
    map_instructions,
)
from tracklight.formats.profiles.hlo import (
    HloComputation,
    HloInstruction,
    HloModule,
    HloShape,
    parse_stack_frames,
)


def _measure_times(name: str) -> dict[str, InstructionTime]:
    trace = read_case(name) if "." not in name else open_file(name)
    instructions = map_instructions(trace, list_programs(trace))
    times = measure_instruction_times(trace, instructions)
    return {time.ref.instruction.name: time for time in times}


def test_every_kernel_is_mapped_to_an_instruction() -> None:
    trace = open_file("jax_f32.xplane.pb")
    times = _measure_times("jax_f32.xplane.pb")
    assert {name: each.run_count for name, each in times.items()} == {
        "gemm_fusion_dot": 4,
        "gemm_fusion_dot.1": 4,
        "loop_multiply_fusion": 4,
    }
    assert sum(each.total_ps for each in times.values()) == trace.duration_ps[trace.on_device].sum()


def test_cost_of_matmul_follows_from_shapes() -> None:
    # A product of 512 x 1024 and 1024 x 1024 matrices in 32 bits.
    cost = _measure_times("jax_f32.xplane.pb")["gemm_fusion_dot.1"].cost
    assert cost.flops >= 2 * 512 * 1024 * 1024
    assert cost.flops < 1.01 * 2 * 512 * 1024 * 1024
    half = _measure_times("jax_bf16.xplane.pb")["gemm_fusion_dot.1"].cost
    # The output has 32 bits in both.
    assert cost.bytes - half.bytes == 2 * (512 * 1024 + 1024 * 1024)


def test_classifies_host_instructions() -> None:
    times = _measure_times("jit_steps")
    assert times["convolution.1"].kind == "convolution"
    assert times["convolution.1"].cost.flops > 1e6
    assert times["wrapped_scatter"].kind == "data movement"


def test_program_text_starts_with_entry() -> None:
    program = max(
        list_programs(open_file("jax_bf16.xplane.pb")), key=lambda each: len(each.instructions)
    )
    lines = list(iter_program_lines(program))
    assert lines[0].text.startswith("ENTRY %main")
    dot = next(line for line in lines if line.instruction and line.instruction.opcode == "dot")
    assert "f32[4,512,1024] dot(" in dot.text and "lhs_contracting_dims={" in dot.text
    assert sum(line.instruction is not None for line in lines) == len(program.instructions)
    assert any("ROOT" in line.text for line in lines)


def test_instructions_have_source_lines() -> None:
    times = _measure_times("jax_bf16.xplane.pb").values()
    sources = {each.ref.program.get_source(each.ref.instruction) for each in times}
    assert any(".py:" in source for source in sources)


def _field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2, len(content)]) + content


def test_stack_frames_are_numbered_from_one() -> None:
    location, frame = bytes([1 << 3, 1, 3 << 3, 7]), bytes([1 << 3, 1])
    data = (
        _field(1, b"train.py")
        + _field(3, location)
        + _field(4, frame)
        + _field(4, bytes([1 << 3, 9]))
    )
    assert parse_stack_frames(data) == ("train.py:7", "")
    program = XlaProgram(HloModule("m", 1, 1, (), parse_stack_frames(data)))
    assert program.get_source(HloInstruction(frame=1)) == "train.py:7"
    assert program.get_source(HloInstruction(frame=3)) == ""
    assert program.get_source(HloInstruction(source="own.py:2", frame=1)) == "own.py:2"


def test_recursive_program_terminates() -> None:
    loop = HloInstruction("fusion", "fusion", HloShape("float32", (4,)), 1, (1,), (7,))
    program = XlaProgram(HloModule("m", 1, 7, (HloComputation("c", 7, 1, (loop,)),)))
    assert classify_instruction(program, loop) == "elementwise"
    assert compute_instruction_cost(program, loop).bytes == 32
    assert get_matmul_types(program, loop) == frozenset()
    assert len(list(iter_program_lines(program))) == 4


def test_formats_shapes_like_xla() -> None:
    assert format_shape(HloShape("float32", (2, 3))) == "f32[2,3]"
    assert (
        format_shape(HloShape("", (), (HloShape("bfloat16", ()), HloShape("bool", (1,)))))
        == "(bf16[], pred[1])"
    )


def test_kernels_of_libraries_are_the_matrix_products_in_program_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dots = [
        HloInstruction(f"dot.{at}", "custom-call", id=at, target="__cublas$gemm") for at in (1, 2)
    ]
    other = HloInstruction("tanh", "tanh", id=3)
    module = HloModule("m", 7, 1, (HloComputation("main", 1, 2, (*dots, other)),))
    kernels = [
        # Two launches with as many kernels as products, and one with another number.
        *[(launch, at) for launch in (1, 2) for at in range(2)],
        (3, 0),
    ]
    trace = make_trace(
        *(
            EventSpec(
                DEVICE,
                f"ampere_sgemm_{at}",
                10 * launch + at,
                10 * launch + at + 1,
                {"hlo_op": "command_buffer", "program_id": 7, "correlation_id": launch},
            )
            for launch, at in kernels
        ),
        EventSpec(DEVICE, "memset", 50, 51, {"hlo_op": "command_buffer", "program_id": 7}),
        EventSpec(DEVICE, "ampere_sgemm_0", 60, 61, {"hlo_op": "x", "program_id": 8}),
    )
    monkeypatch.setitem(vars(trace), "hlo_modules", (module,))
    mapped = map_instructions(trace, list_programs(trace))
    names = [mapped.instructions[at].instruction.name for at in mapped.instance]
    assert dict(zip(mapped.events.tolist(), names, strict=True)) == {
        0: "dot.1",
        1: "dot.2",
        2: "dot.1",
        3: "dot.2",
    }


@pytest.mark.parametrize("opcode", ["all-reduce", "all-gather-start", "collective-permute"])
def test_collectives_are_a_kind(opcode: str) -> None:
    instruction = HloInstruction("it", opcode, id=1)
    program = XlaProgram(HloModule("m", 1, 1, (HloComputation("c", 1, 1, (instruction,)),)))
    assert classify_instruction(program, instruction) == "collective"


def test_text_of_a_custom_call_names_its_target() -> None:
    call = HloInstruction("call", "custom-call", HloShape("float32", ()), 1, target="cublas")
    program = XlaProgram(HloModule("m", 1, 1, (HloComputation("c", 1, 1, (call,)),)))
    assert any('custom_call_target="cublas"' in line.text for line in iter_program_lines(program))
