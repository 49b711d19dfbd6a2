"""Finds lines; runs as a process of its own where an expression may never come to an end.

Python's expressions can take longer than the world lasts, and cannot be stopped while they hold
the interpreter. A process can. It is started with nothing but the standard library, which takes a
few hundredths of a second. The first line that it reads is the pattern and how many lines of a text
are wanted at most, each line after it a text; each is answered with a line, all of them JSON.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator

_MAX_MEMORY_BYTES = 1 << 30

LineMatch = tuple[int, int, int]


def match_lines_of_text(pattern: re.Pattern[str], text: str, most: int) -> list[LineMatch]:
    """The first lines with a match: their number from 0, and where in the line it is."""
    found = []
    for number, line in enumerate(text.split("\n")):
        place = next(_iter_places(pattern, line), None)
        if place is not None:
            found.append((number, *place))
            if len(found) == most:
                break
    return found


def _iter_places(pattern: re.Pattern[str], line: str) -> Iterator[tuple[int, int]]:
    return (match.span() for match in pattern.finditer(line) if match.end() > match.start())


def main() -> None:
    _bound_memory()
    source, flags, most = json.loads(sys.stdin.readline())
    try:
        pattern = re.compile(source, flags)
    except (re.error, OverflowError, RecursionError) as error:
        _send(str(error))
        return
    _send(None)
    for line in sys.stdin:
        _send(match_lines_of_text(pattern, json.loads(line), most))


def _send(answer: object) -> None:
    print(json.dumps(answer), flush=True)


def _bound_memory() -> None:
    try:
        import resource
    except ImportError:  # only Unix has it
        return
    resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY_BYTES, _MAX_MEMORY_BYTES))


if __name__ == "__main__":
    main()
