"""Find the lines of texts that match a regular expression; the script of `RegexProcess`.

An expression can take exponential time and holds the interpreter meanwhile, so expressions from
users run in a process that can be killed. It imports the standard library only and starts in a
few hundredths of a second.

All messages are lines of JSON. The first one contains the pattern, the flags and the maximum
number of lines to return; the reply is null or an error message. Each further one is a text; the
reply is a list of `LineMatch`. For a text in a list, the reply has the captures of each line.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator

_MAX_MEMORY_BYTES = 1 << 30

#: Line number from 0, start and end of the match in the line.
LineMatch = tuple[int, int, int]


def match_lines_of_text(pattern: re.Pattern[str], text: str, max_lines: int) -> list[LineMatch]:
    """Return the first match of each matching line, for at most ``max_lines`` lines."""
    matches = []
    for number, line in enumerate(text.split("\n")):
        span = next(_iter_spans(pattern, line), None)
        if span is not None:
            matches.append((number, *span))
            if len(matches) == max_lines:
                break
    return matches


def _iter_spans(pattern: re.Pattern[str], line: str) -> Iterator[tuple[int, int]]:
    return (match.span() for match in pattern.finditer(line) if match.end() > match.start())


def capture_in_lines(pattern: re.Pattern[str], text: str) -> list[str | None]:
    """Return what the groups of the pattern capture in each line, or what it matches."""
    captures: list[str | None] = []
    for line in text.split("\n"):
        match = pattern.search(line)
        if match is None:
            captures.append(None)
        else:
            captures.append(" ".join(filter(None, match.groups())) if match.re.groups else match[0])
    return captures


def main() -> None:
    _limit_memory()
    source, flags, max_lines = json.loads(sys.stdin.readline())
    try:
        pattern = re.compile(source, flags)
    except (re.error, OverflowError, RecursionError) as error:
        _send(str(error))
        return
    _send(None)
    for line in sys.stdin:
        text = json.loads(line)
        if isinstance(text, list):
            _send(capture_in_lines(pattern, text[0]))
        else:
            _send(match_lines_of_text(pattern, text, max_lines))


def _send(message: object) -> None:
    print(json.dumps(message), flush=True)


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # not available on Windows
        return
    resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY_BYTES, _MAX_MEMORY_BYTES))


if __name__ == "__main__":
    main()
