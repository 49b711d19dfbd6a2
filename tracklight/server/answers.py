"""Turns what a route returns into an HTTP answer: its form, its compression, how long it keeps."""

from __future__ import annotations

from itertools import chain
from typing import Any
from urllib.parse import quote

import msgspec
import numpy as np
from starlette.datastructures import Headers
from starlette.responses import Response, StreamingResponse

from tracklight.formats.json_number import json_numbers
from tracklight.plugin_base import Blob, Stream
from tracklight.server import columns
from tracklight.server.compression import compressed
from tracklight.server.ranges import find_part

JSON = "application/json"

#: By a browser, not by what stands between: who is let in is the server's business.
FOREVER = "private, max-age=31536000, immutable"
#: A file out of a log is nobody's page: it may not run anything, whatever it says it is.
_CONFINED = "default-src 'none'; style-src 'unsafe-inline'; sandbox"


def respond(content: object, asked: Headers) -> Response:
    """``content`` in the form that the headers of the request ask for."""
    if isinstance(content, Blob):
        return _respond_blob(content, asked)
    if isinstance(content, Stream):
        return _respond_stream(content)
    if prefers_columns(asked.get("accept", "")):
        body, media_type = columns.encode(content), columns.MEDIA_TYPE
    else:
        body, media_type = msgspec.json.encode(content, enc_hook=_spell_out), JSON
    answer = compressed(body, media_type, asked)
    answer.headers["cache-control"] = "no-store"
    answer.headers["vary"] = "accept, accept-encoding"
    return answer


def prefers_columns(accept: str) -> bool:
    """Whether columns are named, and no less wanted than JSON; who accepts anything gets JSON."""
    wanted = dict(map(_parse_range, accept.split(",")))
    weight = wanted.get(columns.MEDIA_TYPE, 0.0)
    return weight > 0 and weight >= wanted.get(JSON, 0.0)


def _parse_range(text: str) -> tuple[str, float]:
    name, *parameters = (part.strip().lower() for part in text.split(";"))
    weight = next((p.removeprefix("q=") for p in parameters if p.startswith("q=")), "1")
    try:
        return name, float(weight)
    except ValueError:
        return name, 0.0


def _respond_blob(blob: Blob, asked: Headers) -> Response:
    part = find_part(blob.content, blob.media_type, asked)
    answer = part or compressed(blob.content, blob.media_type, asked)
    answer.headers["accept-ranges"] = "bytes"
    answer.headers["cache-control"] = FOREVER if blob.immutable else "no-store"
    answer.headers["content-security-policy"] = _CONFINED
    if blob.filename is not None:
        answer.headers["content-disposition"] = _save_as(blob.filename)
    return answer


def _respond_stream(stream: Stream) -> Response:
    headers = {
        "cache-control": "no-store",
        "content-security-policy": _CONFINED,
        "content-disposition": _save_as(stream.filename),
    }
    # What goes wrong at once is still told with a status.
    chunks = iter(stream.chunks)
    whole = chain([next(chunks, b"")], chunks)
    return StreamingResponse(whole, media_type=stream.media_type, headers=headers)


def _save_as(filename: str) -> str:
    return f"attachment; filename*=utf-8''{quote(filename, safe='')}"


def _spell_out(value: Any) -> object:
    """Arrays as lists, for who reads JSON."""
    if not isinstance(value, np.ndarray):
        return columns.plain(value)
    if value.dtype.kind == "f":
        return json_numbers(value)
    return value.tolist()
