"""Parsing of HLO modules, including damaged ones."""

from __future__ import annotations

import pytest

from tracklight.errors import FormatError
from tracklight.formats import proto
from tracklight.formats.profiles.hlo import HloInstruction, HloModule, HloShape, parse_hlo_module


def encode_shape(*dimensions: int, element_type: int = 11) -> bytes:
    layout = {"minor_to_major": range(len(dimensions))[::-1]}
    shape = proto.HloShapeProto(element_type=element_type, dimensions=dimensions, layout=layout)
    data: bytes = shape.SerializeToString()
    return data


def encode_module(*instructions: bytes, frames: bytes = b"") -> bytes:
    computation = {"name": b"main", "id": 7, "root_id": 1, "instructions": instructions}
    module = proto.HloModuleProto(
        name=b"jit_step",
        id=3,
        entry_computation_id=7,
        computations=[computation],
        stack_frame_index=frames,
    )
    data: bytes = proto.HloProto(hlo_module=module).SerializeToString()
    return data


def encode_instruction(**fields: object) -> bytes:
    data: bytes = proto.HloInstructionProto(**fields).SerializeToString()
    return data


def read_instructions(*encoded: bytes) -> list[HloInstruction]:
    (computation,) = parse_hlo_module(encode_module(*encoded)).computations
    return list(computation.instructions)


def test_every_field_of_an_instruction_is_read() -> None:
    metadata = proto.HloOpMetadata(
        op_type=b"dot_general",
        op_name=b"jit(step)/dot",
        source_file=b"train.py",
        source_line=9,
        stack_frame_id=2,
    )
    encoded = encode_instruction(
        name=b"dot.1",
        opcode=b"dot",
        shape=encode_shape(2, 3),
        metadata=metadata.SerializeToString(),
        parameter_number=4,
        fusion_kind=b"kLoop",
        convolution_dimension_numbers={"kernel_output_feature_dimension": 5},
        custom_call_target=b"gemm",
        dot_dimension_numbers={"lhs_contracting_dimensions": [1]},
        id=1,
        operand_ids=[2, 300],
        called_computation_ids=[8],
        backend_config=b"{}",
        precision_config=proto.HloPrecisionConfig(operand_precision=[0, 2]).SerializeToString(),
    )
    assert read_instructions(encoded) == [
        HloInstruction(
            name="dot.1",
            opcode="dot",
            shape=HloShape("float32", (2, 3), (), (1, 0)),
            id=1,
            operands=(2, 300),
            calls=(8,),
            op_type="dot_general",
            op_name="jit(step)/dot",
            source="train.py:9",
            fusion_kind="kLoop",
            target="gemm",
            parameter=4,
            contracting_dimensions=(1,),
            kernel_output_dimension=5,
            config="{}",
            is_precise=True,
            frame=2,
        )
    ]


def test_defaults_of_an_instruction_are_those_of_an_empty_message() -> None:
    assert read_instructions(b"") == [HloInstruction()]


def test_damaged_instructions_are_left_out() -> None:
    whole = encode_instruction(name=b"add", shape=encode_shape(4))
    bad_shape = encode_instruction(name=b"bad", shape=b"\xff\xff")
    names = [each.name for each in read_instructions(whole[:-1], whole, b"\xff", bad_shape)]
    assert names == ["add"]


def test_invalid_utf8_stays_readable() -> None:
    (instruction,) = read_instructions(encode_instruction(name=b"add\xff"))
    assert instruction.name == r"add\xff"


def test_too_deeply_nested_tuples_are_left_out() -> None:
    shape = proto.HloShapeProto(element_type=11)
    for _ in range(90):
        shape = proto.HloShapeProto(tuple_shapes=[shape])
    (instruction,) = read_instructions(encode_instruction(shape=shape.SerializeToString()))
    assert len(instruction.shape.parts) == 1
    data: bytes = shape.SerializeToString()
    for _ in range(5000):
        size = proto.HloShapeProto(element_type=len(data)).SerializeToString()[1:]
        data = b"\x22" + size + data
    assert read_instructions(encode_instruction(shape=data)) == []


def test_damaged_stack_frames_are_ignored() -> None:
    module = parse_hlo_module(encode_module(b"", frames=b"\xff"))
    assert (module.name, list(module.frames)) == ("jit_step", [])


@pytest.mark.parametrize("data", [b"\xff" * 20, encode_module(encode_instruction(id=5))[:-1]])
def test_invalid_module_raises(data: bytes) -> None:
    with pytest.raises(FormatError):
        parse_hlo_module(data)


def test_empty_message_is_empty_module() -> None:
    assert parse_hlo_module(b"")._replace(frames=()) == HloModule("", 0, 0, ())
