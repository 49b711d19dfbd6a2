"""The Images dashboard: pictures and videos of every step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracklight.analysis.media.static_export import export_values
from tracklight.analysis.media.values import (
    StepsRequest,
    StepsResponse,
    ValueRequest,
    has_fingerprint,
    list_steps,
)
from tracklight.dashboards.images.export import export_value, make_archive, make_file
from tracklight.dashboards.images.rendering import ImageRenderer
from tracklight.dashboards.images.schemas import (
    ArchiveRequest,
    ImageInfoResponse,
    ImageRequest,
    PixelsRequest,
    PixelsResponse,
    ThumbnailRequest,
    TileRequest,
)
from tracklight.plugin import Blob, Context, Dashboard, Route, Stream


class Images(Dashboard):
    """Answers with pictures out of the log, each read when it is looked at."""

    name = "images"
    title = "Images"
    plugins = ("images",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._renderer = ImageRenderer(context)

    def routes(self) -> Sequence[Route]:
        return [
            Route("steps", StepsRequest, self.steps),
            Route("about", ValueRequest, self.about, "GET", immutable=has_fingerprint),
            Route("picture", ImageRequest, self.picture, "GET"),
            Route("thumbnail", ThumbnailRequest, self.thumbnail, "GET"),
            Route("tile", TileRequest, self.tile, "GET"),
            Route("pixels", PixelsRequest, self.pixels, "GET", immutable=has_fingerprint),
            Route("file", ImageRequest, self.file, "GET"),
            Route("archive", ArchiveRequest, self.archive),
            Route("archive", ArchiveRequest, self.archive, "GET"),
        ]

    def export_static(self, runs: Sequence[str]) -> Iterator[tuple[str, object]]:
        return export_values(
            self.context, self.plugins, runs, lambda ask: export_value(self._renderer, ask)
        )

    def steps(self, ask: StepsRequest) -> StepsResponse:
        """When the pictures of some tags were logged, run by run."""
        return list_steps(self.context, ask)

    def about(self, ask: ValueRequest) -> ImageInfoResponse:
        """What the pictures of a value are, and what keeps those from being shown that cannot."""
        return self._renderer.describe(ask)

    def picture(self, ask: ImageRequest) -> Blob:
        """A picture or video as it was logged; as a PNG file if browsers do not know its kind."""
        return self._renderer.render_original(ask)

    def thumbnail(self, ask: ThumbnailRequest) -> Blob:
        """A picture that fits into a square; one that does already is given as it was logged."""
        return self._renderer.render_thumbnail(ask)

    def tile(self, ask: TileRequest) -> Blob:
        """A square of 512 pixels of a picture, as large as it is or halved some times."""
        return self._renderer.render_tile(ask)

    def pixels(self, ask: PixelsRequest) -> PixelsResponse:
        """The exact numbers of a few pixels."""
        return self._renderer.read_pixels(ask)

    def file(self, ask: ImageRequest) -> Blob:
        """A picture as it was logged, to be saved, also if it cannot be shown."""
        data = self._renderer.read_image(ask)
        step = int(self.context.log.locate(ask.run, ask.tag).step[ask.index])
        return make_file(ask, step, data, len(self._renderer.read_images(ask)))

    def archive(self, ask: ArchiveRequest) -> Stream:
        """All pictures of a tag, or those of some runs and steps, as a zip archive."""
        return make_archive(self.context, ask, self._renderer.read_images)
