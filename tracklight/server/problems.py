"""The one place where something that went wrong becomes an answer.

Every answer that is not a success has the same shape: ``{"error": {"what": …, "next": …}}``, where
``what`` says what is wrong with which thing, and ``next`` what to do about it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from tracklight import errors
from tracklight.plugin_base import Problem
from tracklight.server.wire import Json

log = logging.getLogger(__name__)

_CHECK_LOG = "Check that the log directory is still there and readable."

_STATUS: dict[type[Exception], tuple[int, str]] = {
    errors.UnknownRun: (404, "It may have been removed; the list of runs (api/runs) has the rest."),
    errors.UnknownTag: (404, "Ask api/tags for the tags of this run."),
    errors.DamagedRecord: (422, "The file is damaged there; the rest of it can be read."),
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
    errors.NotKept: (
        503,
        "Make that folder writable, or start tracklight with TRACKLIGHT_DATA set to another.",
    ),
    errors.UsageError: (400, "Change the request as the sentence says and ask again."),
    errors.MissingExtra: (501, "Install it where this server runs, then start it again."),
    errors.TracklightError: (500, "Look at the terminal in which tracklight runs."),
    msgspec.MsgspecError: (400, "Send the JSON that this address asks for."),
}

_HTTP_NEXT = {
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


def find_status(error: Exception) -> tuple[int, str] | None:
    """HTTP status and advice for ``error``, looked up along its ancestry."""
    return next((_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS), None)


def describe(error: Exception) -> Problem:
    """``error`` in words fit for the page."""
    status = find_status(error)
    if status is None:
        what = f"tracklight hit a fault of its own ({type(error).__name__})."
        return Problem(what, "Try again; if it comes back, report it with the terminal's output.")
    return Problem(_sentence(_say(error)), status[1])


def refuse(status: int, what: str, advice: str | None = None) -> Response:
    """The answer to a request that is turned away before it reaches the index."""
    advice = advice or _HTTP_NEXT.get(status, "Try again.")
    return Json({"error": Problem(_sentence(what), advice)}, status)


def answer_error(request: Request, error: Exception) -> Response:
    """Any exception as an answer in the one shape."""
    if isinstance(error, HTTPException):
        answer = refuse(error.status_code, _say_http(request, error))
        answer.headers.update(error.headers or {})
        return answer
    status = find_status(error)
    if status is None:
        log.error("a request failed", exc_info=error)
    return Json({"error": describe(error)}, status[0] if status else 500)


def _say(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f'"{error.filename}" cannot be read: {error.strerror.lower()}'
    return str(error)


def _say_http(request: Request, error: HTTPException) -> str:
    """The framework's own words say neither what was not found nor what is not allowed."""
    if error.detail == HTTPStatus.NOT_FOUND.phrase:
        return f"nothing is at {request.url.path}"
    if error.detail == HTTPStatus.METHOD_NOT_ALLOWED.phrase:
        return f"{request.url.path} does not answer to {request.method}"
    return error.detail


def handlers() -> dict[Any, Callable[[Request, Exception], Response]]:
    """For Starlette: every exception goes to ``answer_error``."""
    return dict.fromkeys((*_STATUS, HTTPException, Exception), answer_error)


def _sentence(text: str) -> str:
    text = text.strip() or "Something went wrong"
    return text[0].upper() + text[1:] + ("" if text.endswith((".", "?", "!")) else ".")
