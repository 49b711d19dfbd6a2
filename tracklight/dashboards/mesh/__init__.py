"""The Mesh dashboard: surfaces and point clouds.

`Mesh` declares the routes, and `geometry` loads and encodes one mesh. The series of a mesh are
joined in `tracklight.analysis.meshes`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from tracklight.analysis.media import (
    ExportPart,
    StepsRequest,
    StepsResponse,
    ValueRequest,
    export_listed_values,
    has_fingerprint,
    value_path,
)
from tracklight.analysis.meshes import (
    MeshPartReader,
    get_mesh_step,
    list_mesh_names,
    list_mesh_steps,
)
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
from tracklight.plugin import Blob, Context, Dashboard, Route

# ---- static export

#: What the page requests first, and all that it requests in a static export; see
#: web/src/dashboards/mesh/card/mesh-card-model.svelte.ts.
_STATIC_MAX_POINTS = 100_000
#: Number of meshes of a batch that are exported.
_MAX_ITEMS = 4


def iter_static_responses(
    context: Context, runs: Sequence[str], geometry: Callable[[GeometryRequest], GeometryResponse]
) -> Iterator[ExportPart]:
    """Yield some steps of every mesh, each with the first meshes of its batch."""

    def export_value(value: ValueRequest) -> Iterator[ExportPart]:
        item, items = 0, 1
        while item < items:
            request = GeometryRequest(
                value.run, value.tag, value.index, value.fingerprint, item, _STATIC_MAX_POINTS
            )
            response = geometry(request)
            items = min(response.info.items, _MAX_ITEMS)
            response.info = msgspec.structs.replace(response.info, items=items)
            yield value_path("geometry", value, item=item, max_points=_STATIC_MAX_POINTS), response
            item += 1

    tags = [tag.tag for tag in context.log.shared_tags(runs) if tag.plugin == "mesh"]
    listed = [
        (name, list_mesh_steps(context, StepsRequest([name], list(runs))))
        for name in list_mesh_names(tags)
    ]
    series_count = sum(len(response.series) for _, response in listed)
    return export_listed_values(listed, series_count, export_value)


# ---- the dashboard


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
