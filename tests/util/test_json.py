from __future__ import annotations

import json
import math

import pytest

from tracklight.util.parsing import load_json


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (rb'"a\ud800b"', "a�b"),
        (rb'"\udcff\uDCFE"', "��"),
        (rb'"\udc00\ud800"', "��"),  # two halves in the wrong order
        (rb'"\ud83d\ude00 \uD83D\uDE00"', "😀 😀"),
        (rb'"\ud83d\ud83d\ude00"', "�😀"),
        (rb'"\\ud800 \\\ud800"', "\\ud800 \\�"),  # an escaped backslash comes first
        (rb'{"\ud800": ["\ud800"]}', {"�": ["�"]}),
        (rb'"\n\"\ud7ff\ue000"', '\n"\ud7ff\ue000'),
        (b'"\xff"', "�"),
        (b"\xef\xbb\xbf[1]", [1]),
    ],
)
def test_text_can_be_sent_to_browsers(data: bytes, expected: object) -> None:
    assert load_json(data) == expected
    assert json.dumps(load_json(data), ensure_ascii=False).encode()


def test_numbers_that_are_not_finite() -> None:
    values = load_json("[NaN, Infinity, -Infinity]")
    assert math.isnan(values[0])
    assert values[1:] == [math.inf, -math.inf]


@pytest.mark.parametrize("data", [b"", b"{", b'"\\ud8"', b'"\\u"', b"\xff\xfe"])
def test_rejects_what_is_not_json(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        load_json(data)
