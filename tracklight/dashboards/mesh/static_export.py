"""The meshes that a copy of a board takes along."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from tracklight.analysis.media.static_export import ExportPart, export_listed_values, value_path
from tracklight.analysis.media.values import StepsRequest, ValueRequest
from tracklight.analysis.meshes import list_mesh_names, list_mesh_steps
from tracklight.dashboards.mesh.geometry import GeometryRequest, GeometryResponse
from tracklight.plugin import Context

#: What the page asks for at first, and in a copy at all; see web/src/dashboards/mesh/data.
_STATIC_MAX_POINTS = 100_000
#: Of a batch so many meshes are carried.
_MAX_ITEMS = 4


def iter_static_responses(
    context: Context, runs: Sequence[str], geometry: Callable[[GeometryRequest], GeometryResponse]
) -> Iterator[ExportPart]:
    """Some steps of every mesh, each with the first few of its batch."""

    def copy_value(ask: ValueRequest) -> Iterator[ExportPart]:
        item, items = 0, 1
        while item < items:
            whole = GeometryRequest(ask.run, ask.tag, ask.index, ask.mark, item, _STATIC_MAX_POINTS)
            answer = geometry(whole)
            items = min(answer.about.items, _MAX_ITEMS)
            answer.about = msgspec.structs.replace(answer.about, items=items)
            yield value_path("geometry", ask, item=item, most=_STATIC_MAX_POINTS), answer
            item += 1

    tags = [tag.tag for tag in context.log.shared_tags(runs) if tag.plugin == "mesh"]
    listed = [
        (name, list_mesh_steps(context, StepsRequest([name], list(runs))))
        for name in list_mesh_names(tags)
    ]
    return export_listed_values(listed, sum(len(answer.series) for _, answer in listed), copy_value)
