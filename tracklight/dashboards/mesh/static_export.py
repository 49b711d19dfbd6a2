"""The meshes that a static export contains."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from tracklight.analysis.media.static_export import ExportPart, export_listed_values, value_path
from tracklight.analysis.media.values import StepsRequest, ValueRequest
from tracklight.analysis.meshes import list_mesh_names, list_mesh_steps
from tracklight.dashboards.mesh.geometry import GeometryRequest, GeometryResponse
from tracklight.plugin import Context

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
