"""What a copy of a board carries of one value."""

from __future__ import annotations

from collections.abc import Iterator

from tracklight.dashboards.images.answers import PartAbout
from tracklight.dashboards.images.asks import PartAsk, ThumbnailAsk, ThumbnailSize
from tracklight.dashboards.images.pictures import Pictures
from tracklight.dashboards.images.raster import encode_light
from tracklight.errors import FormatError
from tracklight.media.addresses import value_path
from tracklight.media.reader import ValueAsk
from tracklight.plugin import Blob

_SIZE: ThumbnailSize = 512
_MOST_PARTS = 16
_LARGEST_ANIMATION_BYTES = 1 << 20
_HEAVY_BYTES = 64 << 10


def copy_value(pictures: Pictures, ask: ValueAsk) -> Iterator[tuple[str, object]]:
    """Thumbnails of its pictures, and animations that are not too large."""
    about = pictures.about(ask)
    yield value_path("about", ask), about
    for part in about.parts[:_MOST_PARTS]:
        if part.problem is None:
            yield from _copy_part(pictures, ask, part)


def _copy_part(pictures: Pictures, ask: ValueAsk, part: PartAbout) -> Iterator[tuple[str, object]]:
    name = ask.run, ask.tag, ask.index, ask.mark, part.part
    if not part.video:
        try:
            thumbnail = pictures.thumbnail(ThumbnailAsk(*name, size=_SIZE))
        except FormatError:  # the others may be fine
            return
        is_exact = max(part.width, part.height) <= _SIZE
        path = value_path("thumbnail", ask, part=part.part, size=_SIZE)
        yield path, thumbnail if is_exact else _lighten(thumbnail)
    moves = part.video or part.frames > 1
    if moves and part.bytes <= _LARGEST_ANIMATION_BYTES:
        yield value_path("picture", ask, part=part.part), pictures.picture(PartAsk(*name))


def _lighten(thumbnail: Blob) -> Blob:
    """Of a picture that was made smaller no pixel is as it was: what is heavy may lose a little."""
    if len(thumbnail.content) <= _HEAVY_BYTES:
        return thumbnail
    return Blob(*encode_light(thumbnail.content), immutable=thumbnail.immutable)
