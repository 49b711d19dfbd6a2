"""The Mesh dashboard: surfaces and clouds of points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracklight.dashboards.mesh.copies import iter_meshes
from tracklight.dashboards.mesh.drawing import Geometry, GeometryAsk, draw
from tracklight.dashboards.mesh.files import FileAsk, make_file
from tracklight.dashboards.mesh.geometry import About, ItemAsk, Solid, build_solid
from tracklight.media.reader import has_mark
from tracklight.media.steps import StepsAnswer, StepsAsk
from tracklight.meshes.moments import find_moment, list_steps
from tracklight.meshes.reading import PartReader
from tracklight.plugin import Blob, Context, Dashboard, Route


class Mesh(Dashboard):
    """Puts the series together that a mesh is logged as, and gives them as columns."""

    name = "mesh"
    title = "Mesh"
    plugins = ("mesh",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._reader = PartReader(context)

    def routes(self) -> Sequence[Route]:
        return [
            Route("steps", StepsAsk, self.steps),
            Route("about", ItemAsk, self.about, "GET", immutable=has_mark),
            Route("geometry", GeometryAsk, self.geometry, "GET", immutable=has_mark),
            Route("file", FileAsk, self.file, "GET"),
        ]

    def export_static(self, runs: Sequence[str]) -> Iterator[tuple[str, object]]:
        return iter_meshes(self.context, runs, self.geometry)

    def steps(self, ask: StepsAsk) -> StepsAnswer:
        """The steps of some meshes. A tag is here the name of a mesh, without the ``_VERTEX``,
        ``_FACE`` or ``_COLOR`` of its series; what was overwritten is left out."""
        return list_steps(self.context, ask)

    def about(self, ask: ItemAsk) -> About:
        """How large a mesh is, where it lies, and how it was logged."""
        return self._build(ask).about

    def geometry(self, ask: GeometryAsk) -> Geometry:
        """A mesh ready to be drawn."""
        return draw(self._build(ask), ask.most)

    def file(self, ask: FileAsk) -> Blob:
        """A mesh with all of its points and faces, in the order logged, as PLY or OBJ."""
        return make_file(ask, self._build(ask))

    def _build(self, ask: ItemAsk) -> Solid:
        return build_solid(self._reader, find_moment(self.context.log, ask), ask.item)
