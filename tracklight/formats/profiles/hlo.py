"""Parse XLA programs (HLO modules), which profiles of TensorFlow and JAX contain.

Programs may have hundreds of thousands of instructions. They are decoded when a computation is
first accessed, and shapes and metadata, which repeat, are cached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache, partial
from typing import NamedTuple, TypeVar, overload

from tracklight.errors import FormatError
from tracklight.formats import proto
from tracklight.formats.proto import Message, decode_text

T = TypeVar("T")


#: Instructions that run other computations, which profiles list separately.
_CONTROL_FLOW = frozenset({"while", "conditional", "call", "async-start"})

#: ``PrimitiveType`` in xla_data.proto.
_TYPES = {
    1: "bool", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "uint8", 7: "uint16",
    8: "uint32", 9: "uint64", 10: "float16", 11: "float32", 12: "float64", 15: "complex64",
    16: "bfloat16", 18: "complex128", 19: "float8", 20: "float8", 23: "float8", 24: "float8",
    25: "float8", 28: "float8", 29: "float8", 33: "float8",
}  # fmt: skip


class LazySequence(Sequence[T]):
    """A sequence that is computed on first access."""

    def __init__(self, compute: Callable[[], Sequence[T]]) -> None:
        self._compute = compute

    @cached_property
    def _items(self) -> Sequence[T]:
        return self._compute()

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        return iter(self._items)

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[T]: ...
    def __getitem__(self, at: int | slice) -> T | Sequence[T]:
        return self._items[at]


class HloShape(NamedTuple):
    dtype: str
    """Empty for tuples and for types without elements, such as tokens."""
    dimensions: tuple[int, ...] = ()
    parts: tuple[HloShape, ...] = ()
    """The elements of a tuple."""
    layout: tuple[int, ...] = ()
    """Dimensions from minor to major."""


class HloInstruction(NamedTuple):
    name: str = ""
    opcode: str = ""
    shape: HloShape = HloShape("")
    id: int = 0
    operands: tuple[int, ...] = ()
    calls: tuple[int, ...] = ()
    """Computations that it runs."""
    op_type: str = ""
    op_name: str = ""
    """Name of the framework's op that it was compiled from."""
    source: str = ""
    """File and line of the user's program."""
    fusion_kind: str = ""
    target: str = ""
    """Function that a custom call calls."""
    parameter: int = 0
    contracting_dimensions: tuple[int, ...] = ()
    """Contracting dimensions of the first operand of a dot."""
    kernel_output_dimension: int = 0
    """Output feature dimension of the kernel of a convolution."""
    config: str = ""
    """Backend configuration, usually JSON."""
    is_precise: bool = False
    """Whether the program asks for more than the default precision of a dot, which allows TF32."""
    frame: int = 0
    """One-based index into `HloModule.frames`, used if `source` is empty; 0 for none."""


class HloComputation(NamedTuple):
    name: str
    id: int
    root: int
    instructions: Sequence[HloInstruction]
    """Decoded on first access; damaged instructions are left out."""


class HloModule(NamedTuple):
    name: str
    id: int
    entry: int
    computations: tuple[HloComputation, ...]
    frames: Sequence[str] = ()
    """File and line of each stack frame of the user's program; decoded on first access."""
    schedule: bytes = b""
    """Encoded order in which instructions run; see `order_instructions`."""
    buffers: bytes = b""
    """Encoded buffer assignment; see `parse_buffers`."""


def parse_hlo_module(data: bytes) -> HloModule:
    """Decode an HloProto.

    Raises:
        FormatError: The bytes are not an HloProto.
    """
    content = proto.parse("HloProto", data)
    module = content.hlo_module
    return HloModule(
        decode_text(module.name),
        module.id,
        module.entry_computation_id,
        tuple(map(_convert_computation, module.computations)),
        LazySequence(partial(parse_stack_frames, module.stack_frame_index)),
        module.schedule,
        content.buffer_assignment,
    )


def order_instructions(module: HloModule, computation: HloComputation) -> list[HloInstruction]:
    """Return the instructions of a computation in the order in which they run.

    Programs store them in another order. Without a schedule, that order is returned.
    """
    instructions = list(computation.instructions)
    try:
        schedule = proto.parse("HloScheduleProto", module.schedule)
    except FormatError:
        return instructions
    for entry in schedule.sequences:
        if entry.key == computation.id:
            position = {id: at for at, id in enumerate(entry.value.instruction_ids)}
            return sorted(instructions, key=lambda item: position.get(item.id, len(position)))
    return instructions


def parse_stack_frames(data: bytes) -> tuple[str, ...]:
    """Decode an HloStackFrameIndex to the file and line of each frame; empty if it is damaged.

    Files, locations and frames refer to each other by one-based indexes; 0 means unknown.
    """
    try:
        index = proto.parse("HloStackFrameIndex", data)
    except FormatError:
        return ()
    files = ["", *map(decode_text, index.file_names)]
    locations = [""]
    for location in index.file_locations:
        file = _get(files, location.file_name_id)
        locations.append(f"{file}:{location.line}" if file else "")
    return tuple(_get(locations, frame.file_location_id) for frame in index.stack_frames)


def iter_executed_computations(module: HloModule) -> Iterator[HloComputation]:
    """Yield the computations whose instructions are executed one by one.

    These are the entry and what it runs by control flow. All others are bodies of fusions, or
    functions of reductions.
    """
    by_id = {item.id: item for item in module.computations}
    pending, seen = [module.entry], {module.entry}
    while pending:
        computation = by_id.get(pending.pop())
        if computation is not None:
            yield computation
            called = {
                number
                for instruction in computation.instructions
                if instruction.opcode in _CONTROL_FLOW
                for number in instruction.calls
            }
            pending += called - seen
            seen |= called


def get_instruction_dtypes(module: HloModule) -> dict[str, frozenset[str]]:
    """Return the element types of the operands and the result of each executed instruction."""
    types: dict[str, frozenset[str]] = {}
    for computation in iter_executed_computations(module):
        gives = {
            instruction.id: _get_dtypes(instruction.shape)
            for instruction in computation.instructions
        }
        for instruction in computation.instructions:
            taken = (gives.get(operand, frozenset()) for operand in instruction.operands)
            types[instruction.name] = gives[instruction.id].union(*taken)
    return types


@lru_cache(maxsize=8_192)
def _get_dtypes(shape: HloShape) -> frozenset[str]:
    return frozenset(iter_dtypes(shape))


def iter_dtypes(shape: HloShape) -> Iterator[str]:
    if shape.dtype:
        yield shape.dtype
    for part in shape.parts:
        yield from iter_dtypes(part)


def _get(texts: Sequence[str], index: int) -> str:
    return texts[index] if 0 <= index < len(texts) else ""


def _convert_computation(message: Message) -> HloComputation:
    read = partial(_read_instructions, list(message.instructions))
    return HloComputation(
        decode_text(message.name), message.id, message.root_id, LazySequence(read)
    )


def _read_instructions(encoded: list[bytes]) -> list[HloInstruction]:
    instructions = []
    for data in encoded:
        with suppress(FormatError):
            instructions.append(_read_instruction(data))
    return instructions


def _read_instruction(data: bytes) -> HloInstruction:
    message = proto.parse("HloInstructionProto", data)
    metadata = _read_metadata(message.metadata)
    return HloInstruction(
        name=decode_text(message.name),
        opcode=decode_text(message.opcode),
        shape=_read_shape(message.shape),
        id=message.id,
        operands=tuple(message.operand_ids),
        calls=tuple(message.called_computation_ids),
        op_type=metadata.op_type,
        op_name=metadata.op_name,
        source=metadata.source,
        fusion_kind=decode_text(message.fusion_kind),
        target=decode_text(message.custom_call_target),
        parameter=message.parameter_number,
        contracting_dimensions=tuple(message.dot_dimension_numbers.lhs_contracting_dimensions),
        kernel_output_dimension=message.convolution_dimension_numbers.kernel_output_feature_dimension,
        config=decode_text(message.backend_config),
        is_precise=_is_precise(message.precision_config),
        frame=metadata.frame,
    )


class _Metadata(NamedTuple):
    op_type: str
    op_name: str
    source: str
    frame: int


# Instructions compiled from the same op are next to each other and have the same metadata.
@lru_cache(maxsize=8_192)
def _read_metadata(data: bytes) -> _Metadata:
    message = proto.parse("HloOpMetadata", data)
    source, line = decode_text(message.source_file), message.source_line
    return _Metadata(
        decode_text(message.op_type),
        decode_text(message.op_name),
        f"{source}:{line}" if source and line else source,
        message.stack_frame_id,
    )


@lru_cache(maxsize=256)
def _is_precise(data: bytes) -> bool:
    """Return whether a precision configuration differs from the default."""
    message = proto.parse("HloPrecisionConfig", data)
    return any(message.operand_precision) or bool(message.algorithm)


@lru_cache(maxsize=8_192)
def _read_shape(data: bytes) -> HloShape:
    return _convert_shape(proto.parse("HloShapeProto", data))


def _convert_shape(message: Message) -> HloShape:
    return HloShape(
        _TYPES.get(message.element_type, ""),
        tuple(message.dimensions),
        tuple(map(_convert_shape, message.tuple_shapes)),
        tuple(message.layout.minor_to_major),
    )


# ---- buffers


class HloBuffer(NamedTuple):
    """A value of a program. Only one of the name and the id of its instruction may be known."""

    id: int
    size: int
    instruction: str
    instruction_id: int


class HloAllocation(NamedTuple):
    """Memory that XLA reserves for buffers, of which several may share a part at other times."""

    size: int
    is_parameter: bool
    is_output: bool
    """Whether it may hold a result of the program."""
    is_constant: bool
    is_thread_local: bool
    buffers: tuple[int, ...]
    """Ids of the buffers in it."""


class HeapEvent(NamedTuple):
    """A buffer is allocated, freed, or begins to share the memory of another one."""

    kind: int
    buffer: int
    shared_with: int


HEAP_ALLOCATE, HEAP_FREE, HEAP_SHARE = range(3)


class BufferAssignment(NamedTuple):
    buffers: dict[int, HloBuffer]
    allocations: tuple[HloAllocation, ...]
    heap_traces: tuple[tuple[HeapEvent, ...], ...]
    """Orders in which buffers are allocated and freed; mostly one, of all temporary buffers."""


def parse_buffers(module: HloModule) -> BufferAssignment:
    """Decode the buffer assignment of a program, which is empty if the profile has none.

    Raises:
        FormatError: It is damaged.
    """
    content = proto.parse("HloBufferAssignment", module.buffers)
    buffers = {
        logical_buffer.id: HloBuffer(
            logical_buffer.id,
            logical_buffer.size,
            decode_text(logical_buffer.defined_at.instruction_name),
            logical_buffer.defined_at.instruction_id,
        )
        for logical_buffer in content.logical_buffers
    }
    allocations = tuple(
        HloAllocation(
            size=buffer_allocation.size,
            is_parameter=buffer_allocation.is_entry_computation_parameter,
            is_output=buffer_allocation.maybe_live_out,
            is_constant=buffer_allocation.is_constant,
            is_thread_local=buffer_allocation.is_thread_local,
            buffers=tuple(assigned.logical_buffer_id for assigned in buffer_allocation.assigned),
        )
        for buffer_allocation in content.buffer_allocations
    )
    # The index of the allocation in a trace is outdated: XLA numbers allocations again later.
    heap_traces = tuple(
        tuple(
            HeapEvent(event.kind, event.buffer_id, event.share_with_canonical_id)
            for event in trace.events
        )
        for trace in content.heap_simulator_traces
    )
    return BufferAssignment(buffers, allocations, heap_traces)
