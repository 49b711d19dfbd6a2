"""Parts of a file: what a player asks for when somebody seeks."""

from __future__ import annotations

import re

from starlette.datastructures import Headers
from starlette.responses import Response

_SINGLE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")


def find_part(content: bytes, media_type: str, asked: Headers) -> Response | None:
    """The bytes that a request asks for; None if it asks for all, or in a way that may be ignored.

    Several ranges at once and units other than bytes are ignored, as RFC 9110 allows.
    """
    wanted = _SINGLE.fullmatch(asked.get("range", ""))
    if wanted is None or not any(wanted.groups()) or "if-range" in asked:
        return None
    if all(wanted.groups()) and int(wanted[2]) < int(wanted[1]):
        return None
    first, last = _find_ends(wanted[1], wanted[2], len(content))
    if first >= len(content) or last < first:
        return Response(status_code=416, headers={"content-range": f"bytes */{len(content)}"})
    return Response(
        content[first : last + 1],
        status_code=206,
        media_type=media_type,
        headers={"content-range": f"bytes {first}-{last}/{len(content)}"},
    )


def _find_ends(first: str, last: str, size: int) -> tuple[int, int]:
    """Both ends belong to the range; without a first one, the last so many bytes are meant."""
    if not first:
        return max(0, size - int(last)), size - 1
    return int(first), min(int(last), size - 1) if last else size - 1
