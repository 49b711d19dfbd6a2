"""Range requests, which media players send to seek."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers

from tracklight.plugin import Blob
from tracklight.server.responses import create_response

FILE = bytes(range(100))


def request_range(header: str, **others: str) -> tuple[int, bytes, str | None]:
    headers = Headers({"range": header, "accept-encoding": "gzip", **others})
    response = create_response(Blob(FILE, "audio/wav", immutable=True), headers)
    assert response.headers["accept-ranges"] == "bytes"
    assert "sandbox" in response.headers["content-security-policy"]
    return response.status_code, bytes(response.body), response.headers.get("content-range")


@pytest.mark.parametrize(
    ("header", "first", "last"),
    [
        ("bytes=0-", 0, 99),
        ("bytes=0-0", 0, 0),
        ("bytes=10-19", 10, 19),
        ("bytes=90-2000", 90, 99),
        ("bytes=-5", 95, 99),
        ("bytes=-500", 0, 99),
    ],
)
def test_returns_the_requested_range(header: str, first: int, last: int) -> None:
    assert request_range(header) == (206, FILE[first : last + 1], f"bytes {first}-{last}/100")


@pytest.mark.parametrize("header", ["bytes=100-", "bytes=500-600", "bytes=-0"])
def test_returns_416_beyond_the_end(header: str) -> None:
    assert request_range(header) == (416, b"", "bytes */100")


@pytest.mark.parametrize("header", ["bytes=-", "bytes=5-3", "bytes=0-1,5-6", "lines=1-2", "x"])
def test_ignores_ranges_that_are_not_a_single_byte_range(header: str) -> None:
    assert request_range(header) == (200, FILE, None)


def test_ignores_conditional_ranges() -> None:
    assert request_range("bytes=0-1", **{"if-range": '"tag"'}) == (200, FILE, None)


@given(st.text(alphabet="bytes=0123456789-, ", max_size=40))
def test_any_range_header_is_handled(header: str) -> None:
    status, body, _ = request_range(header)
    assert status in (200, 206, 416)
    assert status != 206 or body in FILE
