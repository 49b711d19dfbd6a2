"""Recompute op tables, FLOPs and memory traffic of captures without the code under test.

Kineto traces are read as JSON, XSpaces and the XLA programs in them with the small decoder of
`raw_captures`. The rules are those of docs/dashboards/profile.md.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import nan, prod
from pathlib import Path
from typing import Any

from tests.analysis.profiles.raw_captures import (
    RawEvent,
    get_fields,
    iter_message,
    read_content,
    read_names,
)


@dataclass
class RawOp:
    """The calls of an op."""

    count: int = 0
    total_ps: int = 0
    self_ps: int = 0
    cost: tuple[float, float] | None = None
    """FLOPs and bytes of all calls; None if they are unknown."""

    def add_cost(self, cost: tuple[float, float] | None, calls: int = 1) -> None:
        if cost is not None:
            flops, size = self.cost or (0.0, 0.0)
            self.cost = flops + calls * cost[0], size + calls * cost[1]


OpTable = dict[tuple[str, str], RawOp]
"""By name and side."""


def sum_nested(events: list[RawEvent]) -> dict[int, int]:
    """Return the self time of events, by `id`: their time without events nested in them."""
    own = {id(event): event.end_ps - event.start_ps for event in events}
    by_thread: dict[tuple[str, str], list[RawEvent]] = defaultdict(list)
    for event in events:
        by_thread[event.process, event.thread].append(event)
    for rows in by_thread.values():
        open_events: list[RawEvent] = []
        for event in sorted(rows, key=lambda row: (row.start_ps, -row.end_ps)):
            while open_events and open_events[-1].end_ps <= event.start_ps:
                open_events.pop()
            if open_events:
                inside = min(event.end_ps, open_events[-1].end_ps) - event.start_ps
                own[id(open_events[-1])] -= inside
            open_events.append(event)
    return own


# --- PyTorch -------------------------------------------------------------------------------------

DEVICE_CATEGORIES = ("kernel", "gpu_memcpy", "gpu_memset")
TYPE_BYTES = {
    "float": 4, "double": 8, "long int": 8, "bool": 1, "c10::BFloat16": 2, "c10::Half": 2,
    "c10::Float8_e4m3fn": 1,
}  # fmt: skip
MATMULS = (
    "aten::mm", "aten::bmm", "aten::matmul", "aten::addmm", "aten::baddbmm", "aten::_scaled_mm",
)  # fmt: skip
COPIES = ("aten::copy_", "aten::cat", "aten::clone", "aten::fill_", "aten::zero_")


def name_torch_op(event: RawEvent) -> str:
    """Return the name of an op with the shapes of its inputs: ``aten::mm (8x4, 4x2)``."""

    def write(shape: list[Any]) -> str:
        return "x".join(
            f"({write(size)})" if isinstance(size, list) else str(size) for size in shape
        )

    shapes = [write(shape) for shape in event.args.get("Input Dims", []) if shape]
    return f"{event.name} ({', '.join(shapes)})" if shapes else event.name


def compute_torch_cost(event: RawEvent) -> tuple[float, float] | None:
    """Return the FLOPs and bytes of a call by the shapes and types of its inputs."""
    inputs = [
        (shape, TYPE_BYTES.get(type, 4))
        for shape, type in zip(
            event.args.get("Input Dims", []), event.args.get("Input type", []), strict=False
        )
        if shape and all(isinstance(size, int) for size in shape)
    ]
    if not inputs:
        return None
    shapes = [shape for shape, _ in inputs]
    read = sum(prod(shape) * item for shape, item in inputs)
    flops = written = float(max(prod(shape) for shape in shapes))
    if event.name in MATMULS:
        left, right = shapes[1:3] if "add" in event.name else shapes[:2]
        written = prod(left[:-1]) * right[-1]
        flops = 2.0 * written * left[-1]
    elif event.name in ("aten::convolution_backward",):
        written = prod(shapes[1])
        flops = 4.0 * prod(shapes[0]) * prod(shapes[2][1:])
    elif event.name.endswith("convolution") and len(shapes) >= 2:
        written = shapes[0][0] * shapes[1][0] * prod(shapes[0][2:])
        flops = 2.0 * written * prod(shapes[1][1:])
    elif event.name in COPIES:
        flops = 0.0
    # The products of 8-bit matrices in the captures are in bfloat16.
    return flops, read + written * (2 if event.name == "aten::_scaled_mm" else inputs[0][1])


def list_torch_ops(events: list[RawEvent]) -> OpTable:
    """Return the ops on the host, and on devices by the op that launched the work."""
    table: OpTable = defaultdict(RawOp)
    host = [event for event in events if event.category == "cpu_op"]
    own = sum_nested(host)
    launchers: dict[int, RawEvent] = {}
    for event in host:
        row = table[name_torch_op(event), "host"]
        row.count += 1
        row.total_ps += event.end_ps - event.start_ps
        row.self_ps += own[id(event)]
        row.add_cost(compute_torch_cost(event))
        if "External id" in event.args:
            launchers[event.args["External id"]] = event
    launches: dict[str, set[int]] = defaultdict(set)
    for number, event in enumerate(events):
        if event.category not in DEVICE_CATEGORIES:
            continue
        launcher = launchers.get(event.args.get("External id", -1))
        name = name_torch_op(launcher) if launcher else event.name
        row = table[name, "device"]
        row.total_ps += event.end_ps - event.start_ps
        row.self_ps = row.total_ps
        # A call that launches several kernels counts once.
        call = id(launcher) if launcher else number
        if launcher and call not in launches[name]:
            row.add_cost(compute_torch_cost(launcher))
        launches[name].add(call)
        row.count = len(launches[name])
    return table


# --- Ops of TensorFlow and JAX on the host -------------------------------------------------------


def name_host_op(event: RawEvent) -> str | None:
    """Return the op of a host event by the rules of xprof: ``name:Type`` or ``name:jax_type``."""
    if event.name.startswith("$"):
        return None
    if event.args.get("hlo_op"):
        return str(event.args["hlo_op"]).rpartition("::")[2]
    left, colon, right = event.name.partition(":")
    if colon and left == "Iterator":
        return event.name
    if colon and re.fullmatch(r"[a-zA-Z0-9.][\w./>-]*", left):
        if re.fullmatch(r"[A-Z_]\w*", right) or not right:
            return left
    if colon and re.fullmatch(r"[a-z_][a-z0-9_]*(\[.*\])?", right or left.rpartition("/")[2]):
        return left
    if not colon and re.match(r"memcpy[hd]to[hd]", event.name, re.IGNORECASE):
        return event.name
    label = event.args.get("tf_op")
    if isinstance(label, str) and label and not event.name.startswith("Memory"):
        return label.partition(":")[0]
    return None


def list_host_ops(events: list[RawEvent]) -> OpTable:
    table: OpTable = defaultdict(RawOp)
    named = {id(event): name for event in events if (name := name_host_op(event)) is not None}
    host = [event for event in events if not event.on_device and id(event) in named]
    own = sum_nested(host)
    for event in host:
        row = table[named[id(event)], "host"]
        row.count += 1
        row.total_ps += event.end_ps - event.start_ps
        row.self_ps += own[id(event)]
    return table


# --- XLA programs --------------------------------------------------------------------------------

#: ``PrimitiveType`` in xla_data.proto.
XLA_BYTES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 2, 8: 4, 9: 8, 10: 2, 11: 4, 12: 8, 16: 2}
#: Instructions that only move, create or rename data.
MOVEMENT = {
    "bitcast", "broadcast", "concatenate", "constant", "copy", "copy-done", "copy-start",
    "dynamic-slice", "dynamic-update-slice", "gather", "get-tuple-element", "iota", "pad",
    "parameter", "reshape", "reverse", "scatter", "slice", "transpose", "tuple",
}  # fmt: skip


@dataclass
class RawInstruction:
    name: str
    opcode: str
    shape: bytes
    id: int
    operands: list[int]
    called: list[int]
    target: str
    config: str
    contracted: list[int]
    kernel_output: int


@dataclass
class RawProgram:
    id: int
    entry: int
    computations: dict[int, list[RawInstruction]] = field(default_factory=dict)
    by_id: dict[int, RawInstruction] = field(default_factory=dict)


def _unpack(values: list[Any]) -> list[int]:
    """Return repeated integers, which are packed into bytes or not."""
    numbers: list[int] = []
    for value in values:
        if isinstance(value, int):
            numbers.append(value)
            continue
        number = shift = 0
        for byte in value:
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                numbers.append(number)
                number = shift = 0
    return numbers


def _read_instruction(data: bytes) -> RawInstruction:
    fields = get_fields(data)
    dot = get_fields(fields[30][0]) if fields[30] else {1: []}
    convolution = get_fields(fields[16][0]) if fields[16] else {4: []}

    def text(number: int) -> str:
        return fields[number][0].decode() if fields[number] else ""

    return RawInstruction(
        name=text(1),
        opcode=text(2),
        shape=fields[3][0] if fields[3] else b"",
        id=fields[35][0] if fields[35] else 0,
        operands=_unpack(fields[36]),
        called=_unpack(fields[38]),
        target=text(28),
        config=text(43),
        contracted=_unpack(dot[1]),
        kernel_output=(convolution[4] or [0])[0],
    )


def read_programs(path: Path) -> list[RawProgram]:
    """Read the XLA programs of an XSpace."""
    return list(_iter_programs(read_content(path)))


def _iter_programs(data: bytes) -> Iterator[RawProgram]:
    for number, plane_bytes in iter_message(data):
        plane = get_fields(plane_bytes) if number == 1 else {}
        if not plane or not plane[2] or plane[2][0] != b"/host:metadata":
            continue
        stat_names = read_names(plane[5])
        for entry in plane[4]:
            for stat in get_fields(get_fields(entry)[2][0])[5]:
                fields = get_fields(stat)
                if stat_names.get(fields[1][0]) == "Hlo Proto" and fields[6]:
                    yield _read_program(get_fields(fields[6][0])[1][0])


def _read_program(data: bytes) -> RawProgram:
    fields = get_fields(data)
    program = RawProgram(fields[5][0] if fields[5] else 0, fields[6][0] if fields[6] else 0)
    for computation in map(get_fields, fields[3]):
        instructions = [_read_instruction(each) for each in computation[2]]
        program.computations[computation[5][0]] = instructions
        program.by_id.update({each.id: each for each in instructions})
    return program


def list_dimensions(shape: bytes) -> list[list[int]]:
    """Return the dimensions of a shape, or of the parts of a tuple."""
    fields = get_fields(shape)
    if fields[4]:
        return [dimensions for part in fields[4] for dimensions in list_dimensions(part)]
    return [_unpack(fields[3])]


def count_bytes(shape: bytes) -> int:
    fields = get_fields(shape)
    if fields[4]:
        return sum(map(count_bytes, fields[4]))
    return prod(_unpack(fields[3])) * XLA_BYTES.get((fields[2] or [0])[0], 0)


def count_flops(program: RawProgram, each: RawInstruction) -> float:
    """Return the FLOPs of one run of an instruction; NaN if they are unknown."""
    operands = [
        list_dimensions(program.by_id[id].shape)[0] for id in each.operands if id in program.by_id
    ]
    results = list_dimensions(each.shape)
    is_library = each.opcode == "custom-call"
    result = results[0] if is_library else max(results, key=prod)
    if each.opcode == "fusion":
        return sum(count_flops(program, inner) for inner in program.computations[each.called[0]])
    if each.opcode == "dot" or (is_library and re.search("gemm|matmul", each.target.lower())):
        contracted = each.contracted
        if is_library:
            config = json.loads(each.config)["gemm_backend_config"]["dot_dimension_numbers"]
            contracted = [int(axis) for axis in config["lhs_contracting_dimensions"]]
        return 2.0 * prod(result) * prod(operands[0][axis] for axis in contracted)
    if each.opcode == "convolution" or (is_library and "conv" in each.target.lower()):
        kernel, output = operands[1], result
        if "BackwardFilter" in each.target:
            kernel, output = result, operands[1]
        elif "BackwardInput" in each.target:
            output = operands[0]
        return 2.0 * prod(output) * prod(kernel) / kernel[each.kernel_output]
    if is_library:
        return nan
    if each.opcode in ("reduce", "reduce-window"):
        return float(prod(operands[0]))
    return 0.0 if each.opcode in MOVEMENT else float(prod(result))


def compute_xla_cost(program: RawProgram, each: RawInstruction) -> tuple[float, float]:
    """Return the FLOPs and bytes of one run: inputs and outputs, without the workspace."""
    parts = get_fields(each.shape)[4]
    written = count_bytes(parts[0] if parts and each.opcode == "custom-call" else each.shape)
    read = sum(count_bytes(program.by_id[id].shape) for id in each.operands if id in program.by_id)
    return count_flops(program, each), float(read + written)


def list_device_ops(events: list[RawEvent], programs: list[RawProgram]) -> OpTable:
    """Return the ops of devices by the instruction that the profiler recorded.

    An instruction of the entry computation runs once per execution of its program, however many
    kernels it launches.
    """
    table: OpTable = defaultdict(RawOp)
    by_id = {program.id: program for program in programs}
    kernels: dict[tuple[int, str], Counter[str]] = defaultdict(Counter)
    for event in events:
        if not event.on_device or event.end_ps == event.start_ps:
            continue
        label = str(event.args.get("hlo_op", "")).rpartition("::")[2]
        program = by_id.get(event.args.get("program_id", 0))
        row = table[label or event.name, "device"]
        row.total_ps += event.end_ps - event.start_ps
        row.self_ps = row.total_ps
        kernels[program.id if program else 0, label or event.name][event.name] += 1
    for (program_id, name), counts in kernels.items():
        row = table[name, "device"]
        # Of several kernels of an instruction, the one that runs least often runs once a call.
        calls = min(counts.values())
        row.count += calls
        program = by_id.get(program_id)
        if program is None:
            continue
        for each in program.by_id.values():
            if each.name == name:
                row.add_cost(compute_xla_cost(program, each), calls)
    return table


#: Instructions that run no kernel.
NO_KERNEL = {"bitcast", "constant", "get-tuple-element", "parameter", "tuple"}


def sum_graph_costs(events: list[RawEvent], programs: list[RawProgram]) -> tuple[float, float, int]:
    """Return the FLOPs, bytes and kernel time of programs that run as CUDA graphs.

    Kernels are labeled with their graph only. Every launch of a graph runs all instructions of the
    entry computation once.
    """
    launches: dict[int, set[int | None]] = defaultdict(set)
    in_graphs = [event for event in events if "cuda_graph_node_id" in event.args]
    for event in in_graphs:
        launches[event.args["program_id"]].add(event.correlation)
    flops = size = 0.0
    for program in programs:
        for each in program.computations.get(program.entry, ()):
            if program.id in launches and each.opcode not in NO_KERNEL:
                cost = compute_xla_cost(program, each)
                flops += len(launches[program.id]) * cost[0]
                size += len(launches[program.id]) * cost[1]
    # Nodes that clear memory before a product belong to no instruction.
    kernels = [event for event in in_graphs if not event.name.lower().startswith("mem")]
    return flops, size, sum(event.end_ps - event.start_ps for event in kernels)
