"""The Mesh dashboard: surfaces and clouds of points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracklight.analysis.media.values import StepsRequest, StepsResponse, has_fingerprint
from tracklight.analysis.meshes import MeshPartReader, get_mesh_step, list_mesh_steps
from tracklight.dashboards.mesh.geometry import (
    GeometryRequest,
    GeometryResponse,
    LoadedMesh,
    MeshFileRequest,
    MeshInfo,
    MeshRequest,
    load_mesh,
    make_geometry_response,
    write_mesh_file,
)
from tracklight.dashboards.mesh.static_export import iter_static_responses
from tracklight.plugin import Blob, Context, Dashboard, Route


class Mesh(Dashboard):
    """Puts the series together that a mesh is logged as, and gives them as columns."""

    name = "mesh"
    title = "Mesh"
    plugins = ("mesh",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._reader = MeshPartReader(context)

    def routes(self) -> Sequence[Route]:
        return [
            Route("steps", StepsRequest, self.steps),
            Route("about", MeshRequest, self.about, "GET", immutable=has_fingerprint),
            Route("geometry", GeometryRequest, self.geometry, "GET", immutable=has_fingerprint),
            Route("file", MeshFileRequest, self.file, "GET"),
        ]

    def export_static(self, runs: Sequence[str]) -> Iterator[tuple[str, object]]:
        return iter_static_responses(self.context, runs, self.geometry)

    def steps(self, ask: StepsRequest) -> StepsResponse:
        """The steps of some meshes. A tag is here the name of a mesh, without the ``_VERTEX``,
        ``_FACE`` or ``_COLOR`` of its series; what was overwritten is left out."""
        return list_mesh_steps(self.context, ask)

    def about(self, ask: MeshRequest) -> MeshInfo:
        """How large a mesh is, where it lies, and how it was logged."""
        return self._build(ask).info

    def geometry(self, ask: GeometryRequest) -> GeometryResponse:
        """A mesh ready to be drawn."""
        return make_geometry_response(self._build(ask), ask.most)

    def file(self, ask: MeshFileRequest) -> Blob:
        """A mesh with all of its points and faces, in the order logged, as PLY or OBJ."""
        return write_mesh_file(ask, self._build(ask))

    def _build(self, ask: MeshRequest) -> LoadedMesh:
        return load_mesh(self._reader, get_mesh_step(self.context.log, ask), ask.item)
