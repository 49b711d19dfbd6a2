"""Where in the user's program the instructions of an XLA program came from.

Newer programs say it once for all instructions: files, places in them, and frames, which are
places with the frame that they were called from. All are counted from 1 on.
"""

from __future__ import annotations

from tracklight.formats.event import decode_text
from tracklight.formats.wire import DELIMITED, VARINT, iter_fields, to_int64

_FILES, _PLACES, _FRAMES = 1, 3, 4
_PLACE_FILE, _PLACE_LINE, _FRAME_PLACE = 1, 3, 1


def read_frames(data: bytes) -> tuple[str, ...]:
    """File and line of each frame."""
    files, places, frames = list[str](), list[dict[int, int]](), list[dict[int, int]]()
    for part in iter_fields(data, 0, len(data)):
        if part.wire != DELIMITED:
            continue
        content = data[part.start : part.end]
        if part.number == _FILES:
            files.append(decode_text(content))
        elif part.number == _PLACES:
            places.append(_read_numbers(content))
        elif part.number == _FRAMES:
            frames.append(_read_numbers(content))
    named = [_name(place, files) for place in places]
    return tuple(_get(named, frame.get(_FRAME_PLACE, 0)) for frame in frames)


def _name(place: dict[int, int], files: list[str]) -> str:
    file = _get(files, place.get(_PLACE_FILE, 0))
    return f"{file}:{place.get(_PLACE_LINE, 0)}" if file else ""


def _get(names: list[str], number: int) -> str:
    return names[number - 1] if 0 < number <= len(names) else ""


def _read_numbers(data: bytes) -> dict[int, int]:
    fields = iter_fields(data, 0, len(data))
    return {part.number: to_int64(part.value) for part in fields if part.wire == VARINT}
