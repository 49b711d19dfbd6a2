"""Create HTTP responses: JSON, binary columns, files and errors.

Arrays in responses are sent as JSON lists, or, to clients that accept
``application/vnd.tracklight.columns``, as bytes that a browser views as typed arrays:

    "TLC1"  u32 length of the header  header: JSON, padded with spaces  arrays

All numbers are little endian. The body, and each array in it, begins at a multiple of eight bytes.
In the header, ``{"$column": [dtype, offset, length]}`` replaces an array; ``offset`` is in bytes
from the start of the body, ``length`` in elements, and ``dtype`` is one of f4, f8, i4, i8, u1.
Equal arrays may share their bytes.

All error responses have the same form: ``{"error": {"message": …, "hint": …}}``, where ``message``
says what failed and ``hint`` what to do about it.
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
from tracklight.errors import Message
from tracklight.util.files import to_json_numbers

log = logging.getLogger(__name__)

JSON_MEDIA_TYPE = "application/json"
COLUMNS_MEDIA_TYPE = "application/vnd.tracklight.columns"

#: Private: only browsers may cache, not proxies, as the server decides who may see a response.
IMMUTABLE_CACHE_CONTROL = "private, max-age=31536000, immutable"
#: Files from a log are untrusted: they must not run scripts, whatever type they claim to be.
_SANDBOX_CSP = "default-src 'none'; style-src 'unsafe-inline'; sandbox"


class JsonResponse(Response):
    """A JSON response that browsers do not cache, as the log may grow at any moment."""

    media_type = JSON_MEDIA_TYPE

    def __init__(self, content: object, status_code: int = 200) -> None:
        super().__init__(content, status_code, headers={"cache-control": "no-store"})

    def render(self, content: Any) -> bytes:
        return msgspec.json.encode(content)


def create_response(content: object, request_headers: Headers) -> Response:
    """Create a response in the format that the client accepts.

    Args:
        content: What a route's handler returned: a `Blob`, a `Stream`, or anything that msgspec
            encodes, with NumPy arrays in it.
        request_headers: The headers of the request.
    """
    if isinstance(content, Blob):
        return _create_blob_response(content, request_headers)
    if isinstance(content, Stream):
        return _create_stream_response(content)
    if prefers_columns(request_headers.get("accept", "")):
        body, media_type = encode_columns(content), COLUMNS_MEDIA_TYPE
    else:
        body, media_type = msgspec.json.encode(content, enc_hook=_to_json), JSON_MEDIA_TYPE
    response = create_compressed_response(body, media_type, request_headers)
    response.headers["cache-control"] = "no-store"
    response.headers["vary"] = "accept, accept-encoding"
    return response


def prefers_columns(accept: str) -> bool:
    """Return whether an Accept header names columns with at least the weight of JSON.

    Clients that accept anything get JSON.
    """
    weights = dict(map(_parse_accept_entry, accept.split(",")))
    weight = weights.get(COLUMNS_MEDIA_TYPE, 0.0)
    return weight > 0 and weight >= weights.get(JSON_MEDIA_TYPE, 0.0)


def _parse_accept_entry(text: str) -> tuple[str, float]:
    name, *parameters = (part.strip().lower() for part in text.split(";"))
    weight = next((p.removeprefix("q=") for p in parameters if p.startswith("q=")), "1")
    try:
        return name, float(weight)
    except ValueError:
        return name, 0.0


def _create_blob_response(blob: Blob, request_headers: Headers) -> Response:
    response = find_range_response(blob.content, blob.media_type, request_headers)
    if response is None:
        response = create_compressed_response(blob.content, blob.media_type, request_headers)
    response.headers["accept-ranges"] = "bytes"
    response.headers["cache-control"] = IMMUTABLE_CACHE_CONTROL if blob.immutable else "no-store"
    response.headers["content-security-policy"] = _SANDBOX_CSP
    if blob.filename is not None:
        response.headers["content-disposition"] = _format_attachment(blob.filename)
    return response


def _create_stream_response(stream: Stream) -> Response:
    headers = {
        "cache-control": "no-store",
        "content-security-policy": _SANDBOX_CSP,
        "content-disposition": _format_attachment(stream.filename),
    }
    # Get the first chunk before the response starts, so that its errors still have a status.
    chunks = iter(stream.chunks)
    content = chain([next(chunks, b"")], chunks)
    return StreamingResponse(content, media_type=stream.media_type, headers=headers)


def _format_attachment(filename: str) -> str:
    return f"attachment; filename*=utf-8''{quote(filename, safe='')}"


def _to_json(value: Any) -> object:
    """Encode arrays as lists; an ``enc_hook`` of msgspec."""
    if not isinstance(value, np.ndarray):
        return to_plain_number(value)
    if value.dtype.kind == "f":
        return to_json_numbers(value)
    return value.tolist()


def to_plain_number(value: Any) -> object:
    """Return a NumPy scalar as a Python number.

    Raises:
        TypeError: The value is not a NumPy scalar.
    """
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"cannot encode a value of type {type(value).__name__}")


# ---- columns

_COLUMNS_MAGIC = b"TLC1"
_ALIGNMENT_BYTES = 8

#: The dtype in which an array is sent, by kind and size of its items: its own, or the next larger
#: one that can be sent.
_WIRE_DTYPES = {
    ("f", 2): "f4",
    ("f", 4): "f4",
    ("f", 8): "f8",
    ("i", 1): "i4",
    ("i", 2): "i4",
    ("i", 4): "i4",
    ("i", 8): "i8",
    ("u", 1): "u1",
    ("u", 2): "i4",
    ("u", 4): "i8",
    # Browsers read i8 as floating point as well, so nothing is lost.
    ("u", 8): "f8",
    ("b", 1): "u1",
}


#: Equal columns of up to this size are sent once: the runs of a chart often have the same steps.
_MAX_SHARED_COLUMN_BYTES = 16 << 10


def encode_columns(content: object) -> bytes:
    """Encode anything that msgspec encodes, with its NumPy arrays as columns."""
    columns = _ColumnWriter()
    header = msgspec.json.encode(content, enc_hook=columns.add)
    start = len(_COLUMNS_MAGIC) + 4 + len(header)
    header += b" " * (-start % _ALIGNMENT_BYTES)
    return b"".join([_COLUMNS_MAGIC, struct.pack("<I", len(header)), header, *columns.parts])


class _ColumnWriter:
    """Collect arrays one after another; ``add`` is an ``enc_hook`` of msgspec."""

    def __init__(self) -> None:
        self.parts: list[bytes | memoryview] = []
        self._size_bytes = 0
        self._starts: dict[bytes, int] = {}

    def add(self, value: Any) -> object:
        if not isinstance(value, np.ndarray):
            return to_plain_number(value)
        dtype = _get_wire_dtype(value)
        data = np.ascontiguousarray(value, dtype="<" + dtype)
        if data.nbytes > _MAX_SHARED_COLUMN_BYTES:
            start = self._append(data.data.cast("B"))
        else:
            content = data.tobytes()
            start = self._starts.get(content, -1)
            if start < 0:
                start = self._starts[content] = self._append(content)
        return {"$column": [dtype, start, len(data)]}

    def _append(self, data: bytes | memoryview) -> int:
        start, padding = self._size_bytes, bytes(-len(data) % _ALIGNMENT_BYTES)
        self.parts += [data, padding]
        self._size_bytes += len(data) + len(padding)
        return start


def _get_wire_dtype(array: NDArray[Any]) -> str:
    dtype = _WIRE_DTYPES.get((array.dtype.kind, array.dtype.itemsize))
    if array.ndim != 1 or dtype is None:
        raise TypeError(f"cannot encode an array of {array.dtype} with {array.ndim} dimensions")
    return dtype


# ---- compression and ranges

_MIN_COMPRESSED_BYTES = 1000
_SAMPLE_BYTES = 64 << 10
_MAX_SAMPLE_RATIO = 0.8
_FAST_LEVEL, _THOROUGH_LEVEL = 1, 5

_SINGLE_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")


def compress(body: bytes, media_type: str) -> bytes | None:
    """Compress a body with gzip; return None if it is not worth it."""
    level = _find_compression_level(body, media_type)
    if level is None:
        return None
    compressor = zlib.compressobj(level, wbits=31)
    return compressor.compress(body) + compressor.flush()


def create_compressed_response(
    body: bytes,
    media_type: str,
    request_headers: Headers,
    compress: Callable[[bytes, str], bytes | None] = compress,
) -> Response:
    """Create a response that is compressed if the client accepts it and it is worth it."""
    headers = {"vary": "accept-encoding"}
    accepts_gzip = "gzip" in request_headers.get("accept-encoding", "")
    compressed = compress(body, media_type) if accepts_gzip else None
    if compressed is None:
        return Response(body, media_type=media_type, headers=headers)
    headers["content-encoding"] = "gzip"
    return Response(compressed, media_type=media_type, headers=headers)


def _find_compression_level(body: bytes, media_type: str) -> int | None:
    """Return the level to compress with; None if it is not worth it, going by a sample."""
    if len(body) < _MIN_COMPRESSED_BYTES:
        return None
    if media_type.startswith(("application/json", "text/")):
        return _THOROUGH_LEVEL
    middle = max(0, len(body) - _SAMPLE_BYTES) // 2
    sample = body[middle : middle + _SAMPLE_BYTES]
    is_worthwhile = len(zlib.compress(sample, _FAST_LEVEL)) < _MAX_SAMPLE_RATIO * len(sample)
    return _FAST_LEVEL if is_worthwhile else None


def find_range_response(
    content: bytes, media_type: str, request_headers: Headers
) -> Response | None:
    """Return the response to a range request; None if all of the content is to be sent.

    Media players send range requests to seek. Requests for several ranges and for units other
    than bytes are ignored, as RFC 9110 allows.
    """
    match = _SINGLE_RANGE.fullmatch(request_headers.get("range", ""))
    if match is None or not any(match.groups()) or "if-range" in request_headers:
        return None
    if all(match.groups()) and int(match[2]) < int(match[1]):
        return None
    first, last = _resolve_range(match[1], match[2], len(content))
    if first >= len(content) or last < first:
        return Response(status_code=416, headers={"content-range": f"bytes */{len(content)}"})
    return Response(
        content[first : last + 1],
        status_code=206,
        media_type=media_type,
        headers={"content-range": f"bytes {first}-{last}/{len(content)}"},
    )


def _resolve_range(first: str, last: str, size: int) -> tuple[int, int]:
    """Return the inclusive bounds of a range; without a first one, it is a suffix length."""
    if not first:
        return max(0, size - int(last)), size - 1
    return int(first), min(int(last), size - 1) if last else size - 1


# ---- errors

_CHECK_LOG_HINT = Message(
    "hints.check_log", "Check that the log directory still exists and is readable."
)
#: Of files that a user names, which need not be in the log directory.
_CHECK_PATH_HINT = Message("hints.check_path", "Check the path of the file.")
_PATH_CODES = frozenset(["data.no_file_below", "data.no_match", "data.outside", "files.missing"])
_TRY_LATER_HINT = Message("hints.try_later", "Wait a moment, then try again.")
_TRY_AGAIN_HINT = Message("hints.try_again", "Try again.")

#: Status and hint by type of exception; subclasses without an entry use that of their base class.
_STATUS_BY_ERROR: dict[type[Exception], tuple[int, Message]] = {
    errors.RunNotFoundError: (
        404,
        Message("hints.no_run", "It may have been removed; api/v1/runs lists all runs."),
    ),
    errors.TagNotFoundError: (
        404,
        Message("hints.no_tag", "See api/v1/tags for the tags of this run."),
    ),
    errors.CorruptRecordError: (
        422,
        Message("hints.corrupt_record", "The file is damaged there; the rest of it is readable."),
    ),
    errors.UnavailableError: (503, _TRY_LATER_HINT),
    errors.LogError: (404, _CHECK_LOG_HINT),
    # Files of a log may be removed or become unreadable at any moment.
    FileNotFoundError: (404, _CHECK_LOG_HINT),
    IsADirectoryError: (404, _CHECK_LOG_HINT),
    NotADirectoryError: (404, _CHECK_LOG_HINT),
    PermissionError: (404, _CHECK_LOG_HINT),
    errors.FormatError: (
        422,
        Message("hints.format", "The file is damaged, or it is not of the type its name suggests."),
    ),
    errors.EmbeddingSizeError: (
        422,
        Message(
            "hints.embedding_size",
            "The file is not damaged. Use at least two vectors of at least two numbers.",
        ),
    ),
    errors.EmptyGraphError: (
        422,
        Message(
            "hints.empty_graph",
            "The file is not damaged: the program logged an empty graph. In TensorFlow, call a "
            "tf.function between trace_on(graph=True) and trace_export.",
        ),
    ),
    errors.GraphFileError: (
        422,
        Message(
            "hints.graph_file",
            "Supported files: GraphDef (.pb, .pbtxt), saved_model.pb, TensorFlow Lite, ONNX, "
            "torch.export (.pt2), TorchScript, Keras (.keras, .h5, JSON), safetensors, and "
            "StableHLO as text.",
        ),
    ),
    errors.SaveError: (
        503,
        Message(
            "hints.save",
            "Make that directory writable, or restart tracklight with TRACKLIGHT_DATA_DIR set to "
            "another one.",
        ),
    ),
    errors.ConflictError: (
        409,
        Message("hints.conflict", "Compare the two versions, then save the one to keep."),
    ),
    errors.ModelError: (
        422,
        Message("hints.model", "Correct the model or its settings, then try again."),
    ),
    errors.UsageError: (
        400,
        Message("hints.correct_request", "Correct the request and send it again."),
    ),
    errors.MissingDependencyError: (
        501,
        Message("hints.install", "Install it where the server runs, then restart it."),
    ),
    errors.TracklightError: (
        500,
        Message("hints.see_terminal", "See the terminal in which tracklight runs."),
    ),
    msgspec.MsgspecError: (
        400,
        Message("hints.openapi", "Send JSON as described in api/v1/openapi.json."),
    ),
}

_HTTP_HINTS = {
    401: Message(
        "hints.sign_in",
        "Sign in with a user and password that were passed to the server with --auth.",
    ),
    403: Message("hints.open_url", "Open the URL that tracklight printed when it started."),
    404: Message(
        "hints.not_found", "The page is at the root of this server, its data below api/v1/."
    ),
    405: Message("hints.method", "Use a method that this route supports."),
    408: Message("hints.send_again", "Send the request again."),
    413: Message("hints.request_less", "Request less at once."),
    415: Message("hints.content_type", "Send JSON with the header Content-Type: application/json."),
    429: _TRY_LATER_HINT,
    503: _TRY_LATER_HINT,
}


def create_error_response(
    status: int, message: str | Message, hint: str | Message | None = None
) -> Response:
    """Create the response to a request that is rejected before it reaches a handler."""
    problem = _make_problem(message, hint or _HTTP_HINTS.get(status, _TRY_AGAIN_HINT))
    return JsonResponse({"error": problem}, status)


def _make_problem(message: str | Message, hint: str | Message) -> Problem:
    problem = Problem.make(message, hint)
    problem.message = _to_sentence(problem.message)
    return problem


def get_exception_handlers() -> dict[Any, Callable[[Request, Exception], Response]]:
    """Return the exception handlers for Starlette."""
    return dict.fromkeys((*_STATUS_BY_ERROR, HTTPException, Exception), handle_exception)


def handle_exception(request: Request, error: Exception) -> Response:
    """Turn any exception into an error response; unexpected ones are logged."""
    if isinstance(error, HTTPException):
        response = create_error_response(error.status_code, _get_http_message(request, error))
        response.headers.update(error.headers or {})
        return response
    status = find_error_status(error)
    if status is None:
        log.error("a request failed", exc_info=error)
    return JsonResponse({"error": describe_error(error)}, status[0] if status else 500)


def describe_error(error: Exception) -> Problem:
    """Describe an exception for the page; the messages of unexpected ones are not shown."""
    status = find_error_status(error)
    if status is None:
        message = Message.format(
            "errors.internal", "Internal error in tracklight ({type}).", type=type(error).__name__
        )
        hint = Message(
            "hints.report", "Try again; if it persists, report it with the terminal's output."
        )
        return _make_problem(message, hint)
    reason = _get_message(error)
    names_path = isinstance(reason, Message) and reason.code in _PATH_CODES
    return _make_problem(reason, _CHECK_PATH_HINT if names_path else status[1])


def find_error_status(error: Exception) -> tuple[int, Message] | None:
    """Return the HTTP status and hint for an exception; None for unexpected ones."""
    return next(
        (_STATUS_BY_ERROR[kind] for kind in type(error).__mro__ if kind in _STATUS_BY_ERROR), None
    )


def _get_message(error: Exception) -> str | Message:
    if isinstance(error, OSError) and error.strerror:
        return Message.format(
            "files.os_error",
            '"{path}" cannot be read: {reason}',
            path=error.filename,
            reason=error.strerror.lower(),
        )
    return errors.find_message(error) or str(error)


class HttpError(HTTPException):
    """An HTTP error with a message that the page can translate."""

    def __init__(self, status_code: int, message: Message) -> None:
        super().__init__(status_code, message.text)
        self.message = message


def _get_http_message(request: Request, error: HTTPException) -> str | Message:
    """Return a message that names the path, which Starlette's own messages do not."""
    if isinstance(error, HttpError):
        return error.message
    if error.detail == HTTPStatus.NOT_FOUND.phrase:
        return Message.format("http.not_found", "there is nothing at {path}", path=request.url.path)
    if error.detail == HTTPStatus.METHOD_NOT_ALLOWED.phrase:
        return Message.format(
            "http.method",
            "{path} does not support {method}",
            path=request.url.path,
            method=request.method,
        )
    return error.detail


def _to_sentence(text: str) -> str:
    text = text.strip() or "Something went wrong"
    return text[0].upper() + text[1:] + ("" if text.endswith((".", "?", "!")) else ".")
