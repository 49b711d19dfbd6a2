"""A player that seeks gets the part of the file that it asks for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers

from tracklight.plugin import Blob
from tracklight.server.responses import create_response

FILE = bytes(range(100))


def ask(wanted: str, **others: str) -> tuple[int, bytes, str | None]:
    headers = Headers({"range": wanted, "accept-encoding": "gzip", **others})
    answer = create_response(Blob(FILE, "audio/wav", immutable=True), headers)
    assert answer.headers["accept-ranges"] == "bytes"
    assert "sandbox" in answer.headers["content-security-policy"]
    return answer.status_code, bytes(answer.body), answer.headers.get("content-range")


@pytest.mark.parametrize(
    ("wanted", "first", "last"),
    [
        ("bytes=0-", 0, 99),
        ("bytes=0-0", 0, 0),
        ("bytes=10-19", 10, 19),
        ("bytes=90-2000", 90, 99),
        ("bytes=-5", 95, 99),
        ("bytes=-500", 0, 99),
    ],
)
def test_a_part_is_given(wanted: str, first: int, last: int) -> None:
    assert ask(wanted) == (206, FILE[first : last + 1], f"bytes {first}-{last}/100")


@pytest.mark.parametrize("wanted", ["bytes=100-", "bytes=500-600", "bytes=-0"])
def test_a_part_beyond_the_end_is_refused(wanted: str) -> None:
    assert ask(wanted) == (416, b"", "bytes */100")


@pytest.mark.parametrize("wanted", ["bytes=-", "bytes=5-3", "bytes=0-1,5-6", "lines=1-2", "x"])
def test_what_is_no_single_range_gets_the_whole_file(wanted: str) -> None:
    assert ask(wanted) == (200, FILE, None)


def test_a_range_on_a_condition_gets_the_whole_file() -> None:
    assert ask("bytes=0-1", **{"if-range": '"tag"'}) == (200, FILE, None)


@given(st.text(alphabet="bytes=0123456789-, ", max_size=40))
def test_no_header_is_too_odd(wanted: str) -> None:
    status, body, _ = ask(wanted)
    assert status in (200, 206, 416)
    assert status != 206 or body in FILE
