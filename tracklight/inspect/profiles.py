"""The captures of a log in a few lines each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from tracklight.errors import TracklightError
from tracklight.inspect.listing import printable
from tracklight.logdir.roots import Root
from tracklight.profiles.captures import Capture, find_captures, open_capture
from tracklight.profiles.summary import summary
from tracklight.profiles.summary.summary import ProfileSummary, sum_up


class FoundProfile(msgspec.Struct):
    """A capture; ``problem`` says why there is no summary."""

    run: str
    session: str
    host: str
    summary: ProfileSummary | None
    problem: str | None


def sum_up_profiles(roots: Iterable[Root]) -> Iterator[FoundProfile]:
    for capture in find_captures(roots):
        yield _sum_up_one(capture)


def encode_json(profiles: Iterable[FoundProfile]) -> bytes:
    return msgspec.json.format(msgspec.json.encode({"profiles": list(profiles)}), indent=2)


def iter_lines(profiles: Iterable[FoundProfile]) -> Iterator[str]:
    """The same for people."""
    empty = True
    for found in profiles:
        empty = False
        yield "  ".join(printable(name) for name in (found.run, found.session, found.host) if name)
        lines = summary.iter_lines(found.summary) if found.summary else [found.problem or ""]
        yield from (f"  {printable(line)}" for line in lines)
        yield ""
    if empty:
        yield "no profile was captured here"


def _sum_up_one(capture: Capture) -> FoundProfile:
    names = capture.run, capture.session, capture.host
    try:
        return FoundProfile(*names, sum_up(open_capture(capture.path)), None)
    except (TracklightError, OSError) as error:
        return FoundProfile(*names, None, str(error))
