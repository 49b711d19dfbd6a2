"""Compresses answers, with no more effort than they are worth."""

from __future__ import annotations

import zlib

from starlette.datastructures import Headers
from starlette.responses import Response

_SMALL_BYTES = 1000
_SAMPLE_BYTES = 64 << 10
_WORTHWHILE = 0.8
_FAST, _THOROUGH = 1, 5


def compressed(body: bytes, media_type: str, asked: Headers) -> Response:
    """An answer with that body, compressed where the client takes it and it helps."""
    headers = {"vary": "accept-encoding"}
    level = _find_level(body, media_type) if "gzip" in asked.get("accept-encoding", "") else None
    if level is None:
        return Response(body, media_type=media_type, headers=headers)
    packer = zlib.compressobj(level, wbits=31)
    packed = packer.compress(body) + packer.flush()
    return Response(packed, media_type=media_type, headers={**headers, "content-encoding": "gzip"})


def _find_level(body: bytes, media_type: str) -> int | None:
    """How hard to compress. Numbers mostly shrink little, which a sample tells beforehand."""
    if len(body) < _SMALL_BYTES:
        return None
    if media_type.startswith(("application/json", "text/")):
        return _THOROUGH
    middle = max(0, len(body) - _SAMPLE_BYTES) // 2
    sample = body[middle : middle + _SAMPLE_BYTES]
    return _FAST if len(zlib.compress(sample, _FAST)) < _WORTHWHILE * len(sample) else None
