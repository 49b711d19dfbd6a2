"""What a copy of a board carries of one value."""

from __future__ import annotations

from collections.abc import Iterator

from tracklight.dashboards.images.asks import PartAsk, ThumbnailAsk, ThumbnailSize
from tracklight.dashboards.images.pictures import Pictures
from tracklight.media.addresses import value_path
from tracklight.media.reader import ValueAsk

_SIZE: ThumbnailSize = 512
_MOST_PARTS = 16
_LARGEST_ANIMATION_BYTES = 1 << 20


def copy_value(pictures: Pictures, ask: ValueAsk) -> Iterator[tuple[str, object]]:
    """Thumbnails of its pictures, and animations that are not too large."""
    about = pictures.about(ask)
    yield value_path("about", ask), about
    for part in about.parts[:_MOST_PARTS]:
        if part.problem is not None:
            continue
        name = ask.run, ask.tag, ask.index, ask.mark, part.part
        if not part.video:
            path = value_path("thumbnail", ask, part=part.part, size=_SIZE)
            yield path, pictures.thumbnail(ThumbnailAsk(*name, size=_SIZE))
        moves = part.video or part.frames > 1
        if moves and part.bytes <= _LARGEST_ANIMATION_BYTES:
            yield value_path("picture", ask, part=part.part), pictures.picture(PartAsk(*name))
