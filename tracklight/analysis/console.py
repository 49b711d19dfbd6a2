r"""Console logs: what programs print, as lines for people to read.

`parse_console` applies carriage returns, backspaces and the escape sequences that move the cursor,
as a terminal would, so that a progress bar becomes one line in its last state. Escape sequences of
colors stay in the text.

Lines that `tracklight.run` captures begin with a time and a stream, as Kubernetes writes logs
(``2026-11-17T09:14:05.123456Z stdout F text``); lines of other programs have neither.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

#: Longer lines are cut: a program may print a whole array.
MAX_LINE_CHARS = 5000

Stream = Literal["stdout", "stderr"]

_PREFIX = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)) (stdout|stderr) [FP] ?"
)
#: The time at the start of a line of Python's logging, and of most other programs.
_LOGGED_TIME = re.compile(r"\[?(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:[.,](\d{1,6}))?(Z)?")
_COLOR = re.compile(r"\x1b\[[0-9;]*m")
#: Control Sequence Introducer, Operating System Command, and other escape sequences (ECMA-48).
_ESCAPE = re.compile(
    r"\x1b\[([0-9;?]*)([@-~])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[@-Z\\-_]|\x1b[ -/]*[0-~]"
)
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]")
_FRACTION_DIGITS = 6


class ConsoleLine(NamedTuple):
    """A line, an array in JSON; ``time`` is in seconds since 1970, null if it is unknown."""

    time: float | None
    stream: Stream | None
    text: str


def parse_console(text: str) -> list[ConsoleLine]:
    """Return the lines of a console log.

    Example:
        >>> [line.text for line in parse_console("loading\\r 50%\\r100%\\ndone\\n")]
        ['100%', 'done']
    """
    lines: list[ConsoleLine] = []
    for raw in text.replace("\r\n", "\n").split("\n"):
        line = _parse_line(raw)
        up = _count_lines_up(line.text)
        # Several progress bars are drawn by moving the cursor up and writing the lines again.
        if up and lines:
            del lines[max(0, len(lines) - up) :]
        lines.append(ConsoleLine(line.time, line.stream, _render(line.text)))
    if lines and not lines[-1].text and not text.endswith("\n\n"):
        lines.pop()
    return lines


def format_console_line(time: float, stream: Stream, text: str) -> str:
    """Return a line with its time and stream, in the form that `parse_console` reads."""
    moment = datetime.datetime.fromtimestamp(time, datetime.timezone.utc)
    return f"{moment:%Y-%m-%dT%H:%M:%S.%f}Z {stream} F {text}\n"


def _parse_line(raw: str) -> ConsoleLine:
    if match := _PREFIX.match(raw):
        stream: Stream = "stderr" if match[2] == "stderr" else "stdout"
        return ConsoleLine(_parse_time(match[1]), stream, raw[match.end() :])
    if match := _LOGGED_TIME.match(raw):
        fraction = f".{match[3].ljust(_FRACTION_DIGITS, '0')}" if match[3] else ""
        # Python's logging writes local time; without a zone, that of the server is assumed.
        zone = "+00:00" if match[4] else ""
        return ConsoleLine(_parse_time(f"{match[1]}T{match[2]}{fraction}{zone}"), None, raw)
    return ConsoleLine(None, None, raw)


def _parse_time(text: str) -> float | None:
    try:
        return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _count_lines_up(text: str) -> int:
    """Return how many lines above the sequences at the start of a line move the cursor."""
    count = 0
    for match in re.finditer(r"\x1b\[(\d*)A", text):
        count += int(match[1] or 1)
    return count


def _render(text: str) -> str:
    """Return a line as a terminal shows it in the end, with escape sequences of colors."""
    if "\r" not in text and "\b" not in text and "\x1b" not in text:
        return _UNPRINTABLE.sub("", text)[:MAX_LINE_CHARS]
    if "\b" not in text and "\x1b" not in text:
        shown = ""
        for part in text.split("\r"):
            shown = part + shown[len(part) :]
        return _UNPRINTABLE.sub("", shown)[:MAX_LINE_CHARS]
    cells: list[str] = []
    at = 0
    color = ""
    for kind, part in _iter_parts(text[: 20 * MAX_LINE_CHARS]):
        if kind == "color":
            color += part
        elif kind == "erase":
            if part in ("", "0"):
                del cells[at:]
            elif part == "2":
                cells.clear()
                at = 0
        elif part == "\r":
            at = 0
        elif part == "\b":
            at = max(0, at - 1)
        else:
            # A color belongs to the cell after it, so that overwriting the cell removes it.
            cells[at : at + 1] = [color + part]
            color = ""
            at += 1
    rendered = "".join(cells) + (color if cells else "")
    return rendered[:MAX_LINE_CHARS]


def _iter_parts(text: str) -> Iterator[tuple[str, str]]:
    """Yield characters and the escape sequences that matter for one line."""
    at = 0
    while at < len(text):
        if text[at] == "\x1b":
            if match := _COLOR.match(text, at):
                yield "color", match[0]
            elif match := _ESCAPE.match(text, at):
                if match[2] == "K":
                    yield "erase", match[1]
                elif match[2] == "G":
                    yield "text", "\r"
            at = match.end() if match else at + 1
        elif text[at] in "\r\b" or not _UNPRINTABLE.match(text[at]):
            yield "text", text[at]
            at += 1
        else:
            at += 1
