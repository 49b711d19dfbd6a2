"""The captures of a log in a few lines each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from tracklight.analysis.profiles import summary
from tracklight.analysis.profiles.captures.files import Capture, list_captures, open_capture
from tracklight.analysis.profiles.summary import ProfileSummary, summarize
from tracklight.errors import TracklightError
from tracklight.logdir.roots import Root
from tracklight.reader.listing import escape_unprintable


class InspectedProfile(msgspec.Struct):
    """A capture; ``problem`` says why there is no summary."""

    run: str
    session: str
    host: str
    summary: ProfileSummary | None
    problem: str | None


def summarize_profiles(roots: Iterable[Root]) -> Iterator[InspectedProfile]:
    for capture in list_captures(roots):
        yield _summarize_profile(capture)


def encode_profiles(profiles: Iterable[InspectedProfile]) -> bytes:
    return msgspec.json.format(msgspec.json.encode({"profiles": list(profiles)}), indent=2)


def iter_profile_lines(profiles: Iterable[InspectedProfile]) -> Iterator[str]:
    """The same for people."""
    empty = True
    for found in profiles:
        empty = False
        yield "  ".join(
            escape_unprintable(name) for name in (found.run, found.session, found.host) if name
        )
        lines = (
            summary.iter_summary_lines(found.summary) if found.summary else [found.problem or ""]
        )
        yield from (f"  {escape_unprintable(line)}" for line in lines)
        yield ""
    if empty:
        yield "no profile was captured here"


def _summarize_profile(capture: Capture) -> InspectedProfile:
    names = capture.run, capture.session, capture.host
    try:
        return InspectedProfile(*names, summarize(open_capture(capture.path)), None)
    except (TracklightError, OSError) as error:
        return InspectedProfile(*names, None, str(error))
