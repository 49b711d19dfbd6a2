"""Kernels of CUDA graphs, compared with the schedule of the program."""

from __future__ import annotations

import re
from collections import Counter, defaultdict

import pytest

from tests.analysis.profiles.raw_captures import iter_message, read_raw
from tests.analysis.profiles.sample_captures import DATA, read_bytes, read_case
from tracklight.analysis.profiles.attribution import GraphKernel, match_kernels
from tracklight.analysis.profiles.roofline import measure_instruction_times
from tracklight.analysis.profiles.xla_programs import list_programs, map_instructions
from tracklight.formats.profiles import xplane
from tracklight.formats.profiles.hlo import HloInstruction

LAUNCHES = 12


def read_schedule(case: str, program: str) -> list[str]:
    """Return the names of the instructions with kernels, in the order in which they run."""
    for encoded in xplane.iter_hlo_protos(read_bytes(case)):
        module = next(value for number, value in iter_message(encoded) if number == 1)
        fields = list(iter_message(module))
        if dict(fields)[1].decode() != program:
            continue
        entry = dict(fields)[6]
        names, opcodes, order = {}, {}, b""
        for number, value in fields:
            if number == 3:
                for inner, content in iter_message(value):
                    if inner == 2:
                        each = dict(iter_message(content))
                        names[each[35]], opcodes[each[35]] = each[1].decode(), each[2]
            elif number == 7:
                for _, sequence in iter_message(value):
                    row = dict(iter_message(sequence))
                    if row[1] == entry:
                        order = dict(iter_message(row[2]))[1]
        ids = [value for _, value in iter_message(b"".join(_tag_varints(order)))]
        return [names[id] for id in ids if opcodes[id] in (b"fusion", b"custom-call")]
    raise AssertionError(program)


def _tag_varints(packed: bytes) -> list[bytes]:
    """Turn packed varints into fields, which `iter_message` reads."""
    return [b"\x08" + match[0] for match in re.finditer(rb"[\x80-\xff]*[\x00-\x7f]", packed)]


def test_kernels_of_a_graph_run_the_instructions_of_the_schedule() -> None:
    """Six equal layers share their kernels, which are named after one of them."""
    trace = read_case("jax_tf")
    times = measure_instruction_times(trace, map_instructions(trace, list_programs(trace)))
    actual = {each.ref.instruction.name: each.total_ps for each in times}
    assert {each.run_count for each in times} == {LAUNCHES}

    schedule = read_schedule("jax_tf", "jit__lambda")
    launches = defaultdict(list)
    for event in read_raw(DATA / "jax_tf.xplane.pb.xz"):
        if event.on_device:
            launches[event.correlation].append(event)
    expected: Counter[str] = Counter()
    for launch in launches.values():
        assert len(launch) == len(schedule)
        launch.sort(key=lambda event: event.start_ps)
        for event, name in zip(launch, schedule, strict=True):
            expected[name] += event.end_ps - event.start_ps
    assert len(launches) == LAUNCHES
    assert actual == expected


def test_equal_layers_take_equal_time() -> None:
    trace = read_case("jax_tf")
    times = measure_instruction_times(trace, map_instructions(trace, list_programs(trace)))
    slices = [each.total_ps for each in times if "loop_slice_fusion" in each.ref.instruction.name]
    assert len(slices) == 18  # three per layer
    assert max(slices) < 1.3 * min(slices)


def make_instruction(id: int, name: str, opcode: str = "fusion") -> HloInstruction:
    return HloInstruction(name=name, opcode=opcode, id=id)


def match(kernels: list[str], instructions: list[HloInstruction]) -> list[str | None]:
    named = {each.name.replace(".", "_"): each for each in instructions}
    found = match_kernels(
        [GraphKernel(name, node=at, start_ps=at) for at, name in enumerate(kernels)],
        instructions,
        named,
    )
    return [each and each.name for each in found]


def test_library_calls_may_run_several_kernels() -> None:
    program = [
        make_instruction(1, "custom-call.1", "custom-call"),
        make_instruction(2, "fusion.1"),
        make_instruction(3, "custom-call.2", "custom-call"),
        make_instruction(4, "fusion.2"),
    ]
    assert match(["gemm", "fusion_1", "gemm", "split_k", "fusion_1"], program) == [
        "custom-call.1", "fusion.1", "custom-call.2", "custom-call.2", "fusion.2",
    ]  # fmt: skip


@pytest.mark.parametrize("kernels", [["fusion_1", "fusion_1"], ["fusion_1"] * 4])
def test_shared_kernels_are_unknown_if_their_number_differs(kernels: list[str]) -> None:
    program = [make_instruction(at, f"fusion.{at}") for at in range(1, 4)]
    assert match(kernels, program) == [None] * len(kernels)
