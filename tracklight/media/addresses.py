"""The addresses of values, letter by letter as the page writes them.

A copy of a board looks its answers up by these, so `valuePath` in ``web/src/api/values.ts`` and
the functions here must agree.
"""

from __future__ import annotations

from urllib.parse import quote

from tracklight.media.reader import ValueAsk

#: What JavaScript's ``encodeURIComponent`` leaves as it is, beside letters and digits.
_PLAIN_SIGNS = "!'()*-._~"


def value_path(verb: str, ask: ValueAsk, **extra: str | int) -> str:
    """Where one value is asked for; ``extra`` stands in the order in which it is given."""
    fields: dict[str, str | int | None] = {
        "run": ask.run,
        "tag": ask.tag,
        "index": ask.index,
        "mark": ask.mark,
        **extra,
    }
    pairs = (
        f"{name}={encode_uri_component(str(value))}"
        for name, value in fields.items()
        if value is not None
    )
    return f"{verb}?{'&'.join(pairs)}"


def steps_path(tag: str) -> str:
    """Where a copy says which steps of a tag it carries."""
    return tag_path("steps", tag)


def tag_path(verb: str, tag: str) -> str:
    """Where a copy answers for all runs of a tag together."""
    return f"{verb}/{encode_uri_component(tag)}"


def encode_uri_component(text: str) -> str:
    """Encode a text for a URL exactly as JavaScript's function of that name does."""
    # Text that is not valid Unicode cannot be requested by a page either.
    return quote(text, safe=_PLAIN_SIGNS, errors="replace")
