"""The Images dashboard: pictures and videos of every step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracklight.dashboards.images.answers import AboutAnswer, PixelsAnswer
from tracklight.dashboards.images.archive import make_archive, make_file
from tracklight.dashboards.images.asks import (
    ArchiveAsk,
    PartAsk,
    PixelsAsk,
    ThumbnailAsk,
    TileAsk,
)
from tracklight.dashboards.images.copies import copy_value
from tracklight.dashboards.images.pictures import Pictures
from tracklight.media.copies import iter_copies
from tracklight.media.reader import ValueAsk, has_mark
from tracklight.media.steps import StepsAnswer, StepsAsk, list_steps
from tracklight.plugin import Blob, Context, Dashboard, Route, Stream


class Images(Dashboard):
    """Answers with pictures out of the log, each read when it is looked at."""

    name = "images"
    title = "Images"
    plugins = ("images",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._pictures = Pictures(context)

    def routes(self) -> Sequence[Route]:
        return [
            Route("steps", StepsAsk, self.steps),
            Route("about", ValueAsk, self.about, "GET", immutable=has_mark),
            Route("picture", PartAsk, self.picture, "GET"),
            Route("thumbnail", ThumbnailAsk, self.thumbnail, "GET"),
            Route("tile", TileAsk, self.tile, "GET"),
            Route("pixels", PixelsAsk, self.pixels, "GET", immutable=has_mark),
            Route("file", PartAsk, self.file, "GET"),
            Route("archive", ArchiveAsk, self.archive),
            Route("archive", ArchiveAsk, self.archive, "GET"),
        ]

    def export_static(self, runs: Sequence[str]) -> Iterator[tuple[str, object]]:
        return iter_copies(
            self.context, self.plugins, runs, lambda ask: copy_value(self._pictures, ask)
        )

    def steps(self, ask: StepsAsk) -> StepsAnswer:
        """When the pictures of some tags were logged, run by run."""
        return list_steps(self.context, ask)

    def about(self, ask: ValueAsk) -> AboutAnswer:
        """What the pictures of a value are, and what keeps those from being shown that cannot."""
        return self._pictures.about(ask)

    def picture(self, ask: PartAsk) -> Blob:
        """A picture or video as it was logged; as a PNG file if browsers do not know its kind."""
        return self._pictures.picture(ask)

    def thumbnail(self, ask: ThumbnailAsk) -> Blob:
        """A picture that fits into a square; one that does already is given as it was logged."""
        return self._pictures.thumbnail(ask)

    def tile(self, ask: TileAsk) -> Blob:
        """A square of 512 pixels of a picture, as large as it is or halved some times."""
        return self._pictures.tile(ask)

    def pixels(self, ask: PixelsAsk) -> PixelsAnswer:
        """The exact numbers of a few pixels."""
        return self._pictures.pixels(ask)

    def file(self, ask: PartAsk) -> Blob:
        """A picture as it was logged, to be saved, also if it cannot be shown."""
        data = self._pictures.read_part(ask)
        step = int(self.context.log.located(ask.run, ask.tag).step[ask.index])
        return make_file(ask, step, data, len(self._pictures.read(ask)))

    def archive(self, ask: ArchiveAsk) -> Stream:
        """All pictures of a tag, or those of some runs and steps, as a zip archive."""
        return make_archive(self.context, ask, self._pictures.read)
