"""Which series a mesh is made of: up to three, whose tags end in what they hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tracklight.formats.summary import MeshContent
from tracklight.plugin_base import Source
from tracklight.types import Located

#: TensorFlow 1 counts at the end of a tag where two operations have one name.
_TAG = re.compile(r"(?P<name>.*)_(?P<part>VERTEX|FACE|COLOR)(?P<again>_\d+)?", re.DOTALL)
_COUNTED = re.compile(r"(?P<name>.*)(?P<again>_\d+)", re.DOTALL)


def split_tag(tag: str) -> tuple[str, MeshContent]:
    """The mesh that a series belongs to and what it has of it; ``web/src/dashboards/mesh/join.ts``
    does the same."""
    found = _TAG.fullmatch(tag)
    if found is None:
        return tag, MeshContent.VERTEX
    return found["name"] + (found["again"] or ""), MeshContent[found["part"]]


def find_runs(log: Source, name: str) -> list[str]:
    """The runs that have any part of a mesh."""
    tags = [tag for part in MeshContent for tag in _iter_tags(name, part)]
    return list(dict.fromkeys(run for tag in tags for run in log.plugin_data(tag)))


def find_parts(log: Source, run: str, name: str) -> dict[MeshContent, Located]:
    """Where the parts of a mesh stand that a run has."""
    found: dict[MeshContent, Located] = {}
    for part in MeshContent:
        for tag in _iter_tags(name, part):
            if part not in found and run in log.plugin_data(tag):
                found[part] = log.located(run, tag)
    return found


def list_names(tags: Sequence[str]) -> list[str]:
    """The meshes that some series make up."""
    return list(dict.fromkeys(split_tag(tag)[0] for tag in tags))


def _iter_tags(name: str, part: MeshContent) -> Iterator[str]:
    yield f"{name}_{part.name}"
    counted = _COUNTED.fullmatch(name)
    if counted is not None:
        yield f"{counted['name']}_{part.name}{counted['again']}"
    if part is MeshContent.VERTEX and _TAG.fullmatch(name) is None:
        yield name
