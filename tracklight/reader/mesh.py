"""Meshes: vertices with their faces and colors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.meshes import MeshSteps, read_mesh_part, read_mesh_parts
from tracklight.errors import FormatError
from tracklight.formats.summary import MeshContent
from tracklight.index.catalog import Catalog
from tracklight.types import Bool, Float64, Int64


@dataclass(frozen=True, eq=False)
class Mesh:
    """A batch of meshes at one step, as they were logged.

    Attributes:
        vertices: ``[batch, points, 3]``.
        faces: ``[batch, faces, 3]``, indexes of vertices; None for a point cloud.
        colors: ``[batch, points, 3]``; None if there are none.
        config: The three.js settings (camera, lights, material) logged with the mesh.
    """

    vertices: NDArray[Any]
    faces: NDArray[Any] | None = None
    colors: NDArray[Any] | None = None
    config: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        parts = {"vertices": self.vertices, "faces": self.faces, "colors": self.colors}
        shapes = [f"{name} {list(it.shape)}" for name, it in parts.items() if it is not None]
        return f"<Mesh: {', '.join(shapes)}>"


class MeshRows:
    """The steps at which any part of a mesh was logged."""

    def __init__(self, run: str, tag: str, steps: MeshSteps) -> None:
        self.run, self.tag = run, tag
        self._steps = steps
        self.step: Int64 = steps.step
        self.wall_time: Float64 = steps.wall_time
        self.overwritten: Bool = np.zeros(len(steps), np.bool_)

    def write_order(self) -> Int64:
        return np.arange(len(self._steps))


def read_mesh(catalog: Catalog, steps: MeshSteps, row: int) -> Mesh:
    """Read the mesh at one step, with the latest faces and colors logged until then."""
    parts = read_mesh_parts(
        lambda located, index: read_mesh_part(catalog, located, index), steps[row]
    )
    base = parts.get(MeshContent.VERTEX)
    if base is None:
        raise FormatError("the mesh has no vertices")
    faces, colors = parts.get(MeshContent.FACE), parts.get(MeshContent.COLOR)
    return Mesh(
        base.array,
        None if faces is None else faces.array,
        None if colors is None else colors.array,
        _parse_config(base.config),
    )


def _parse_config(text: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text.encode("utf-8", "replace"), type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):  # includes the empty text of most writers
        return {}
