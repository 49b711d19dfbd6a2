"""Answers with arrays in them, as bytes that a browser turns into typed arrays without parsing.

    "TLC1"  u32 length of the header  header: JSON, padded with spaces  arrays

All numbers are little endian, and the body, as well as each array in it, begins at a multiple of
eight bytes. In the header, ``{"$column": [dtype, offset, length]}`` stands where an array belongs;
``offset`` counts bytes from the start of the body, ``length`` elements, and ``dtype`` is one of
f4, f8, i4, i8, u1.
"""

from __future__ import annotations

import logging
import re
import struct
import zlib
from collections.abc import Callable
from http import HTTPStatus
from itertools import chain
from typing import Any
from urllib.parse import quote

import msgspec
import numpy as np
from numpy.typing import NDArray
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from tracklight import errors
from tracklight.analysis.source import Blob, Problem, Stream
from tracklight.util.json_number import to_json_numbers

COLUMNS_MEDIA_TYPE = "application/vnd.tracklight.columns"

_MAGIC = b"TLC1"

_ALIGNMENT = 8

#: How each kind of array travels: unchanged, or as the next larger one that can.
_DTYPES = {
    "float16": "f4",
    "float32": "f4",
    "float64": "f8",
    "int8": "i4",
    "int16": "i4",
    "int32": "i4",
    "int64": "i8",
    "uint8": "u1",
    "uint16": "i4",
    "uint32": "i8",
    # A browser reads i8 as floating point, too, so nothing is lost on the way there.
    "uint64": "f8",
    "bool": "u1",
}


def encode_columns(content: object) -> bytes:
    """``content``, anything that msgspec encodes, with its arrays as columns."""
    body = _ColumnWriter()
    header = msgspec.json.encode(content, enc_hook=body.add)
    start = len(_MAGIC) + 4 + len(header)
    header += b" " * (-start % _ALIGNMENT)
    return b"".join([_MAGIC, struct.pack("<I", len(header)), header, *body.parts])


class _ColumnWriter:
    """The arrays met so far, one after another."""

    def __init__(self) -> None:
        self.parts: list[bytes | memoryview] = []
        self._size = 0

    def add(self, value: Any) -> object:
        if not isinstance(value, np.ndarray):
            return to_plain_number(value)
        dtype = _get_wire_dtype(value)
        data = np.ascontiguousarray(value, dtype="<" + dtype)
        reference = {"$column": [dtype, self._size, len(data)]}
        padding = bytes(-data.nbytes % _ALIGNMENT)
        # An empty array has no memory to view.
        self.parts += [data.data.cast("B") if len(data) else b"", padding]
        self._size += data.nbytes + len(padding)
        return reference


def to_plain_number(value: Any) -> object:
    """What JSON has no word for, as msgspec asks: a number of NumPy's as one of Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be sent")


def _get_wire_dtype(array: NDArray[Any]) -> str:
    if array.ndim != 1 or array.dtype.name not in _DTYPES:
        raise TypeError(f"an array of {array.ndim} dimensions and {array.dtype} is no column")
    return _DTYPES[array.dtype.name]


# Compresses answers, with no more effort than they are worth.

_MIN_COMPRESSED_BYTES = 1000

_SAMPLE_BYTES = 64 << 10

_MAX_SAMPLE_RATIO = 0.8

_FAST_LEVEL, _THOROUGH_LEVEL = 1, 5


def create_compressed_response(body: bytes, media_type: str, request_headers: Headers) -> Response:
    """An answer with that body, compressed where the client takes it and it helps."""
    headers = {"vary": "accept-encoding"}
    level = (
        _choose_level(body, media_type)
        if "gzip" in request_headers.get("accept-encoding", "")
        else None
    )
    if level is None:
        return Response(body, media_type=media_type, headers=headers)
    packer = zlib.compressobj(level, wbits=31)
    packed = packer.compress(body) + packer.flush()
    return Response(packed, media_type=media_type, headers={**headers, "content-encoding": "gzip"})


def _choose_level(body: bytes, media_type: str) -> int | None:
    """How hard to compress. Numbers mostly shrink little, which a sample tells beforehand."""
    if len(body) < _MIN_COMPRESSED_BYTES:
        return None
    if media_type.startswith(("application/json", "text/")):
        return _THOROUGH_LEVEL
    middle = max(0, len(body) - _SAMPLE_BYTES) // 2
    sample = body[middle : middle + _SAMPLE_BYTES]
    return (
        _FAST_LEVEL
        if len(zlib.compress(sample, _FAST_LEVEL)) < _MAX_SAMPLE_RATIO * len(sample)
        else None
    )


# Parts of a file: what a player asks for when somebody seeks.

_SINGLE_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")


def find_range_response(
    content: bytes, media_type: str, request_headers: Headers
) -> Response | None:
    """The bytes that a request asks for; None if it asks for all, or in a way that may be ignored.

    Several ranges at once and units other than bytes are ignored, as RFC 9110 allows.
    """
    wanted = _SINGLE_RANGE.fullmatch(request_headers.get("range", ""))
    if wanted is None or not any(wanted.groups()) or "if-range" in request_headers:
        return None
    if all(wanted.groups()) and int(wanted[2]) < int(wanted[1]):
        return None
    first, last = _resolve_range(wanted[1], wanted[2], len(content))
    if first >= len(content) or last < first:
        return Response(status_code=416, headers={"content-range": f"bytes */{len(content)}"})
    return Response(
        content[first : last + 1],
        status_code=206,
        media_type=media_type,
        headers={"content-range": f"bytes {first}-{last}/{len(content)}"},
    )


def _resolve_range(first: str, last: str, size: int) -> tuple[int, int]:
    """Both ends belong to the range; without a first one, the last so many bytes are meant."""
    if not first:
        return max(0, size - int(last)), size - 1
    return int(first), min(int(last), size - 1) if last else size - 1


# Turns what a route returns into an HTTP answer: its form, its compression, how long it keeps.

JSON_MEDIA_TYPE = "application/json"

#: By a browser, not by what stands between: who is let in is the server's business.
IMMUTABLE_CACHE_CONTROL = "private, max-age=31536000, immutable"

#: A file out of a log is nobody's page: it may not run anything, whatever it says it is.
_SANDBOX_CSP = "default-src 'none'; style-src 'unsafe-inline'; sandbox"


def create_response(content: object, request_headers: Headers) -> Response:
    """``content`` in the form that the headers of the request ask for."""
    if isinstance(content, Blob):
        return _create_blob_response(content, request_headers)
    if isinstance(content, Stream):
        return _create_stream_response(content)
    if prefers_columns(request_headers.get("accept", "")):
        body, media_type = encode_columns(content), COLUMNS_MEDIA_TYPE
    else:
        body, media_type = msgspec.json.encode(content, enc_hook=_to_json), JSON_MEDIA_TYPE
    answer = create_compressed_response(body, media_type, request_headers)
    answer.headers["cache-control"] = "no-store"
    answer.headers["vary"] = "accept, accept-encoding"
    return answer


def prefers_columns(accept: str) -> bool:
    """Whether columns are named, and no less wanted than JSON; who accepts anything gets JSON."""
    wanted = dict(map(_parse_accept_entry, accept.split(",")))
    weight = wanted.get(COLUMNS_MEDIA_TYPE, 0.0)
    return weight > 0 and weight >= wanted.get(JSON_MEDIA_TYPE, 0.0)


def _parse_accept_entry(text: str) -> tuple[str, float]:
    name, *parameters = (part.strip().lower() for part in text.split(";"))
    weight = next((p.removeprefix("q=") for p in parameters if p.startswith("q=")), "1")
    try:
        return name, float(weight)
    except ValueError:
        return name, 0.0


def _create_blob_response(blob: Blob, asked: Headers) -> Response:
    part = find_range_response(blob.content, blob.media_type, asked)
    answer = part or create_compressed_response(blob.content, blob.media_type, asked)
    answer.headers["accept-ranges"] = "bytes"
    answer.headers["cache-control"] = IMMUTABLE_CACHE_CONTROL if blob.immutable else "no-store"
    answer.headers["content-security-policy"] = _SANDBOX_CSP
    if blob.filename is not None:
        answer.headers["content-disposition"] = _format_attachment(blob.filename)
    return answer


def _create_stream_response(stream: Stream) -> Response:
    headers = {
        "cache-control": "no-store",
        "content-security-policy": _SANDBOX_CSP,
        "content-disposition": _format_attachment(stream.filename),
    }
    # What goes wrong at once is still told with a status.
    chunks = iter(stream.chunks)
    whole = chain([next(chunks, b"")], chunks)
    return StreamingResponse(whole, media_type=stream.media_type, headers=headers)


def _format_attachment(filename: str) -> str:
    return f"attachment; filename*=utf-8''{quote(filename, safe='')}"


def _to_json(value: Any) -> object:
    """Arrays as lists, for who reads JSON."""
    if not isinstance(value, np.ndarray):
        return to_plain_number(value)
    if value.dtype.kind == "f":
        return to_json_numbers(value)
    return value.tolist()


# The one place where something that went wrong becomes an answer.
#
# Every answer that is not a success has the same shape: ``{"error": {"what": …, "next": …}}``, where
# ``what`` says what is wrong with which thing, and ``next`` what to do about it.

log = logging.getLogger(__name__)

_CHECK_LOG = "Check that the log directory is still there and readable."

_STATUS_BY_ERROR: dict[type[Exception], tuple[int, str]] = {
    errors.RunNotFoundError: (
        404,
        "It may have been removed; the list of runs (api/runs) has the rest.",
    ),
    errors.TagNotFoundError: (404, "Ask api/tags for the tags of this run."),
    errors.CorruptRecordError: (422, "The file is damaged there; the rest of it can be read."),
    errors.LogError: (404, _CHECK_LOG),
    # What a log holds may go, or be kept from this server, at any moment.
    FileNotFoundError: (404, _CHECK_LOG),
    IsADirectoryError: (404, _CHECK_LOG),
    NotADirectoryError: (404, _CHECK_LOG),
    PermissionError: (404, _CHECK_LOG),
    errors.FormatError: (422, "The file is not what its name says, or it is damaged."),
    errors.EmptyGraphError: (
        422,
        "Nothing is damaged: the program logged it so. In TensorFlow, call a tf.function between "
        "trace_on(graph=True) and trace_export.",
    ),
    errors.SaveError: (
        503,
        "Make that folder writable, or start tracklight with TRACKLIGHT_DATA set to another.",
    ),
    errors.UsageError: (400, "Change the request as the sentence says and ask again."),
    errors.MissingDependencyError: (501, "Install it where this server runs, then start it again."),
    errors.TracklightError: (500, "Look at the terminal in which tracklight runs."),
    msgspec.MsgspecError: (400, "Send the JSON that this address asks for."),
}

_HTTP_HINTS = {
    401: "Sign in with a name and a password that were given to the server by --auth.",
    403: "Open the board at the address that tracklight printed when it started.",
    404: "The page is at the root of this server, its data under api/.",
    405: "Use the method that this address answers to.",
    408: "Send it again, in one go.",
    413: "Ask for less at once.",
    415: "Send JSON, and say so in the header Content-Type.",
    429: "Wait a little, then ask again.",
    503: "Wait a little, then ask again.",
}


def find_error_status(error: Exception) -> tuple[int, str] | None:
    """HTTP status and advice for ``error``, looked up along its ancestry."""
    return next(
        (_STATUS_BY_ERROR[kind] for kind in type(error).__mro__ if kind in _STATUS_BY_ERROR), None
    )


def describe_error(error: Exception) -> Problem:
    """``error`` in words fit for the page."""
    status = find_error_status(error)
    if status is None:
        what = f"tracklight hit a fault of its own ({type(error).__name__})."
        return Problem(what, "Try again; if it comes back, report it with the terminal's output.")
    return Problem(_to_sentence(_get_message(error)), status[1])


def create_error_response(status: int, message: str, hint: str | None = None) -> Response:
    """The answer to a request that is turned away before it reaches the index."""
    hint = hint or _HTTP_HINTS.get(status, "Try again.")
    return JsonResponse({"error": Problem(_to_sentence(message), hint)}, status)


def handle_exception(request: Request, error: Exception) -> Response:
    """Any exception as an answer in the one shape."""
    if isinstance(error, HTTPException):
        answer = create_error_response(error.status_code, _get_http_message(request, error))
        answer.headers.update(error.headers or {})
        return answer
    status = find_error_status(error)
    if status is None:
        log.error("a request failed", exc_info=error)
    return JsonResponse({"error": describe_error(error)}, status[0] if status else 500)


def _get_message(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f'"{error.filename}" cannot be read: {error.strerror.lower()}'
    return str(error)


def _get_http_message(request: Request, error: HTTPException) -> str:
    """The framework's own words say neither what was not found nor what is not allowed."""
    if error.detail == HTTPStatus.NOT_FOUND.phrase:
        return f"nothing is at {request.url.path}"
    if error.detail == HTTPStatus.METHOD_NOT_ALLOWED.phrase:
        return f"{request.url.path} does not answer to {request.method}"
    return error.detail


def get_exception_handlers() -> dict[Any, Callable[[Request, Exception], Response]]:
    """For Starlette: every exception goes to ``answer_error``."""
    return dict.fromkeys((*_STATUS_BY_ERROR, HTTPException, Exception), handle_exception)


def _to_sentence(text: str) -> str:
    text = text.strip() or "Something went wrong"
    return text[0].upper() + text[1:] + ("" if text.endswith((".", "?", "!")) else ".")


class JsonResponse(Response):
    """An answer in JSON, never kept by a browser because the log may grow at any moment."""

    media_type = "application/json"

    def __init__(self, content: object, status_code: int = 200) -> None:
        super().__init__(content, status_code, headers={"cache-control": "no-store"})

    def render(self, content: Any) -> bytes:
        return msgspec.json.encode(content)
