"""The Images dashboard: the images and videos of every step.

`schemas` declares requests and responses. `header` detects the format of a logged file and reads
its header, `raster` decodes and encodes pixels, and `rendering` builds the responses, downloads and
the static export from both. The package may import `tracklight.plugin`, `tracklight.analysis` and
what is below them. Start reading at `Images.routes`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracklight.analysis.media import (
    StepsRequest,
    StepsResponse,
    ValueRequest,
    export_values,
    has_fingerprint,
    list_steps,
)
from tracklight.dashboards.images.rendering import (
    ImageRenderer,
    export_value,
    make_archive,
    make_file,
)
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
    """Routes of the dashboard. Images are read from the log on request."""

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
            self.context, self.plugins, runs, lambda request: export_value(self._renderer, request)
        )

    def steps(self, request: StepsRequest) -> StepsResponse:
        """Return the steps at which images of some tags were logged, for each run."""
        return list_steps(self.context, request)

    def about(self, request: ValueRequest) -> ImageInfoResponse:
        """Describe the images of a value, and why some cannot be shown."""
        return self._renderer.describe(request)

    def picture(self, request: ImageRequest) -> Blob:
        """Return an image or video as logged, or as PNG if browsers cannot show its format."""
        return self._renderer.render_original(request)

    def thumbnail(self, request: ThumbnailRequest) -> Blob:
        """Return an image that fits into a square; small images are returned as logged."""
        return self._renderer.render_thumbnail(request)

    def tile(self, request: TileRequest) -> Blob:
        """Return a tile of 512 x 512 pixels of an image, at full size or halved several times."""
        return self._renderer.render_tile(request)

    def pixels(self, request: PixelsRequest) -> PixelsResponse:
        """Return the exact values of a few pixels."""
        return self._renderer.read_pixels(request)

    def file(self, request: ImageRequest) -> Blob:
        """Return a logged file as a download, even if it cannot be shown."""
        data = self._renderer.read_image(request)
        step = int(self.context.log.locate(request.run, request.tag).step[request.index])
        return make_file(request, step, data, len(self._renderer.read_images(request)))

    def archive(self, request: ArchiveRequest) -> Stream:
        """Return the images of a tag, optionally of some runs and steps, as a zip archive."""
        return make_archive(self.context, request, self._renderer.read_images)
