"""The meshes that a copy of a board takes along."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from tracklight.dashboards.mesh.drawing import Geometry, GeometryAsk
from tracklight.media.addresses import value_path
from tracklight.media.copies import Part, copy_listed
from tracklight.media.reader import ValueAsk
from tracklight.media.steps import StepsAsk
from tracklight.meshes.moments import list_steps
from tracklight.meshes.names import list_names
from tracklight.plugin import Context

#: What the page asks for at first, and in a copy at all; see web/src/dashboards/mesh/data.
_COARSE = 100_000
#: Of a batch so many meshes are carried.
_MOST_ITEMS = 4


def iter_meshes(
    context: Context, runs: Sequence[str], geometry: Callable[[GeometryAsk], Geometry]
) -> Iterator[Part]:
    """Some steps of every mesh, each with the first few of its batch."""

    def copy_value(ask: ValueAsk) -> Iterator[Part]:
        item, items = 0, 1
        while item < items:
            whole = GeometryAsk(ask.run, ask.tag, ask.index, ask.mark, item, _COARSE)
            answer = geometry(whole)
            items = min(answer.about.items, _MOST_ITEMS)
            answer.about = msgspec.structs.replace(answer.about, items=items)
            yield value_path("geometry", ask, item=item, most=_COARSE), answer
            item += 1

    tags = [tag.tag for tag in context.log.shared_tags(runs) if tag.plugin == "mesh"]
    listed = [
        (name, list_steps(context, StepsAsk([name], list(runs)))) for name in list_names(tags)
    ]
    return copy_listed(listed, sum(len(answer.series) for _, answer in listed), copy_value)
