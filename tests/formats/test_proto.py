from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from tracklight.errors import FormatError
from tracklight.formats import proto


def test_round_trip() -> None:
    value = proto.Value(tag=b"loss", simple_value=0.5)
    event = proto.Event(wall_time=1.5, step=-3, summary=proto.Summary(value=[value]))

    again = proto.parse("Event", event.SerializeToString())

    assert again == event
    assert again.WhichOneof("what") == "summary"
    assert again.summary.value[0].WhichOneof("value") == "simple_value"


def test_zero_in_oneof_is_serialized() -> None:
    value = proto.parse("Value", proto.Value(simple_value=0.0).SerializeToString())

    assert value.WhichOneof("value") == "simple_value"


def test_repeated_numbers_are_packed() -> None:
    tensor = proto.TensorProto(int_val=[1, 2, 300])

    assert tensor.SerializeToString() == b"\x3a\x04\x01\x02\xac\x02"


def test_invalid_utf8_is_preserved() -> None:
    value = proto.Value(tag=b"\xff\xfe")

    assert proto.parse("Value", value.SerializeToString()).tag == b"\xff\xfe"


def test_unknown_fields_are_preserved() -> None:
    data = proto.Value(tag=b"x").SerializeToString() + b"\xfa\x7f\x01z"

    assert proto.parse("Value", data).SerializeToString() == data


@pytest.mark.parametrize("data", [b"\xff", b"\x2a\x05abc", b"\x00"])
def test_invalid_message_raises(data: bytes) -> None:
    with pytest.raises(FormatError, match="not a valid Event message"):
        proto.parse("Event", data)


def test_deep_nesting_raises() -> None:
    data = b""
    for depth in range(2000):
        # Nest HParamValue.list_value and HParamValues.values alternately.
        data = (b"\x0a" if depth % 2 else b"\x32") + encode_varint(len(data)) + data
    with pytest.raises(FormatError):
        proto.parse("HParamValues", data)


def encode_varint(number: int) -> bytes:
    *rest, last = [number >> shift & 0x7F for shift in range(0, max(number.bit_length(), 1), 7)]
    return bytes([*(part | 0x80 for part in rest), last])


def test_parses_any_buffer() -> None:
    data = proto.Value(tag=b"x").SerializeToString()

    assert proto.parse("Value", memoryview(data)) == proto.parse("Value", bytearray(data))


def test_unknown_message_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no message Evnt"):
        _ = proto.Evnt


def test_threads_share_classes() -> None:
    script = """
from concurrent.futures import ThreadPoolExecutor
from tracklight.formats import proto
with ThreadPoolExecutor(8) as pool:
    events = list(pool.map(lambda _: proto.Event, range(64)))
assert len(set(events)) == 1
"""
    subprocess.run([sys.executable, "-c", script], check=True)
    with ThreadPoolExecutor(2) as pool:
        assert len(set(pool.map(lambda _: proto.Event, range(8)))) == 1


def test_import_does_not_load_protobuf() -> None:
    script = """
import sys
from tracklight.formats import proto
assert "google.protobuf" not in sys.modules
proto.Event()
assert "google.protobuf" in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)
