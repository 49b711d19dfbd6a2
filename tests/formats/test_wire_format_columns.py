"""The compiled functions of `wire_format` match those in Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracklight.errors import FormatError
from tracklight.formats import proto
from tracklight.formats.proto import decode_texts, scan_messages

_xplane = pytest.importorskip("tracklight.formats._xplane")


def test_scans_wanted_fields_in_order() -> None:
    nodes = [
        proto.NodeDef(name=b"a", op=b"Relu", input=[b"x", b"y"]),
        proto.NodeDef(),
        proto.NodeDef(name="wörter".encode()),
    ]
    data = b"".join(node.SerializeToString() for node in nodes)
    sizes = np.array([node.ByteSize() for node in nodes])
    spans = np.stack([np.cumsum(sizes) - sizes, sizes], axis=1)
    of, field, start, size = np.ascontiguousarray(scan_messages(data, spans, 0b1010).T)
    assert list(zip(of, field, decode_texts(data, start, size), strict=True)) == [
        (0, 1, "a"),
        (0, 3, "x"),
        (0, 3, "y"),
        (2, 1, "wörter"),
    ]


def test_invalid_text_and_invalid_messages() -> None:
    assert decode_texts(b"a\xffb", np.array([0, 1]), np.array([3, 0])) == ["a\\xffb", ""]
    with pytest.raises(FormatError, match="cannot be decoded"):
        scan_messages(b"\x0a\x09x", np.array([[0, 3]]), 2)


@given(st.lists(st.binary(max_size=40), max_size=5), st.integers(0, 2**64 - 1))
@settings(max_examples=300, deadline=None)
def test_implementations_agree_on_random_bytes(messages: list[bytes], wanted: int) -> None:
    data = b"".join(messages)
    sizes = np.array([len(message) for message in messages], np.int64)
    spans = np.stack([np.cumsum(sizes) - sizes, sizes], axis=1)
    answers = []
    for scan in (_xplane.scan_messages, proto.scan_messages_in_python):
        try:
            answers.append(scan(data, spans, wanted).tolist())
        except FormatError:
            answers.append(None)
    assert answers[0] == answers[1]
    texts = (_xplane.decode_texts, proto.decode_texts_in_python)
    starts = np.ascontiguousarray(spans[:, 0])
    assert texts[0](data, starts, sizes) == texts[1](data, starts, sizes)
