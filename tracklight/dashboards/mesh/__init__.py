"""The Mesh dashboard: surfaces and point clouds.

`Mesh` declares the routes, `geometry` loads and encodes one mesh, and `static_export` lists the
responses that a static export contains. The series of a mesh are joined in
`tracklight.analysis.meshes`.
"""

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
    """Serves meshes as buffers that a GPU can draw, and as files."""

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

    def steps(self, request: StepsRequest) -> StepsResponse:
        """Return the steps of some meshes, without overwritten values.

        Tags are the names of meshes, without the ``_VERTEX``, ``_FACE`` or ``_COLOR`` of their
        series.
        """
        return list_mesh_steps(self.context, request)

    def about(self, request: MeshRequest) -> MeshInfo:
        """Return the size and position of a mesh, and how it was logged."""
        return self._load(request).info

    def geometry(self, request: GeometryRequest) -> GeometryResponse:
        """Return a mesh ready to be drawn."""
        return make_geometry_response(self._load(request), request.max_points)

    def file(self, request: MeshFileRequest) -> Blob:
        """Return a mesh with all points and faces, in the logged order, as PLY or OBJ."""
        return write_mesh_file(request, self._load(request))

    def _load(self, request: MeshRequest) -> LoadedMesh:
        mesh_step = get_mesh_step(self.context.log, request)
        return load_mesh(self._reader, mesh_step, request.item)
