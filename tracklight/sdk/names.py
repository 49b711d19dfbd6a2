"""What a tag may be called."""

from __future__ import annotations

from tracklight.formats.encode import MAX_TAG_CHARACTERS
from tracklight.sdk.lenient import Misuse, complain

_UNNAMED = "unnamed"


def as_name(name: object, argument: str = "name") -> str:
    """A name that every reader can show: never empty, and text that UTF-8 can hold.

    All other characters are left as they are: slashes, spaces, colons, quotes, line ends.
    """
    if not isinstance(name, str):
        complain(argument, f"must be a str, not a {type(name).__name__}")
        name = name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)
    if not name:
        complain(argument, f"is empty; logged as {_UNNAMED!r}")
        return _UNNAMED
    if len(name) > MAX_TAG_CHARACTERS:
        raise Misuse(argument, f"has {len(name)} characters; {MAX_TAG_CHARACTERS} are the most")
    try:
        name.encode()
    except UnicodeEncodeError:
        complain(argument, "has half a surrogate pair, which became a question mark")
        return name.encode("utf-8", "replace").decode()
    return name
