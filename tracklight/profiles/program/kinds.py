"""What instructions of XLA do, in the few words that people sort them by."""

from __future__ import annotations

from collections.abc import Iterator

from tracklight.formats.hlo import Instruction, iter_types
from tracklight.profiles.program.program import Program

PRODUCT, CONVOLUTION, COLLECTIVE = "matrix product", "convolution", "collective"
REDUCTION, ELEMENTWISE, MOVEMENT, CONTROL = (
    "reduction",
    "elementwise",
    "data movement",
    "control flow",
)
SHORT_TYPES = frozenset({"float16", "bfloat16", "float8"})
_KINDS = {
    **dict.fromkeys(("dot", "ragged-dot"), PRODUCT),
    "convolution": CONVOLUTION,
    **dict.fromkeys(("reduce", "reduce-window", "sort", "topk", "select-and-scatter"), REDUCTION),
    **dict.fromkeys(
        ("copy", "copy-start", "copy-done", "transpose", "bitcast", "reshape", "broadcast", "slice",
         "dynamic-slice", "dynamic-update-slice", "concatenate", "gather", "scatter", "pad",
         "tuple", "get-tuple-element", "parameter", "constant", "iota", "reverse", "infeed",
         "outfeed", "send", "recv", "send-done", "recv-done"),
        MOVEMENT,
    ),
    **dict.fromkeys(("while", "conditional", "call", "async-start", "async-done"), CONTROL),
}  # fmt: skip
_COLLECTIVES = ("all-", "reduce-scatter", "collective-", "partition-id", "replica-id")
#: Of what a fusion holds, the first of these names it.
_HEAVIEST = (COLLECTIVE, CONVOLUTION, PRODUCT, REDUCTION, ELEMENTWISE)
#: Fusions hold fusions, and a damaged program may hold itself.
_DEEPEST = 8


def kind_of(program: Program, instruction: Instruction) -> str:
    held = set(_iter_kinds(program, instruction, 0))
    return next((kind for kind in _HEAVIEST if kind in held), next(iter(held), ELEMENTWISE))


def find_product_types(program: Program, instruction: Instruction) -> frozenset[str]:
    """The types of the numbers that an instruction, or one that it holds, multiplies."""
    return frozenset(_iter_product_types(program, instruction, 0))


def _iter_product_types(program: Program, instruction: Instruction, depth: int) -> Iterator[str]:
    if _kind_alone(instruction) in (PRODUCT, CONVOLUTION):
        for operand in instruction.operands[:2]:
            given = program.by_number.get(operand)
            yield from iter_types(given.shape) if given else ()
    for each in iter_held(program, instruction) if depth <= _DEEPEST else ():
        yield from _iter_product_types(program, each, depth + 1)


def iter_held(program: Program, instruction: Instruction) -> Iterator[Instruction]:
    """The instructions that a fusion was made of."""
    for number in instruction.calls if instruction.opcode == "fusion" else ():
        computation = program.computations.get(number)
        yield from computation.instructions if computation else ()


def _iter_kinds(program: Program, instruction: Instruction, depth: int) -> Iterator[str]:
    if instruction.opcode != "fusion" or depth > _DEEPEST:
        yield _kind_alone(instruction)
        return
    for each in iter_held(program, instruction):
        yield from _iter_kinds(program, each, depth + 1)


def _kind_alone(instruction: Instruction) -> str:
    if instruction.opcode == "custom-call":
        return _kind_of_call(instruction.target.lower())
    if instruction.opcode.startswith(_COLLECTIVES):
        return COLLECTIVE
    return _KINDS.get(instruction.opcode, ELEMENTWISE)


def _kind_of_call(target: str) -> str:
    if "gemm" in target or "matmul" in target:
        return PRODUCT
    if "conv" in target:
        return CONVOLUTION
    return f"custom call: {target}" if target else "custom call"
