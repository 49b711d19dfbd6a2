"""A mesh as a file that other programs open."""

from __future__ import annotations

import io
import re
from typing import Literal

import numpy as np

from tracklight.dashboards.mesh.geometry import ItemAsk, Solid
from tracklight.errors import UsageError
from tracklight.plugin import Blob

#: Beyond this a text takes too long to write, and to read.
_MOST_LINES = 500_000


class FileAsk(ItemAsk):
    """One mesh as it was logged: PLY in binary, or OBJ as text."""

    format: Literal["ply", "obj"] = "ply"


def make_file(ask: FileAsk, solid: Solid) -> Blob:
    content = _make_ply(solid) if ask.format == "ply" else _make_obj(solid)
    media_type = "model/ply" if ask.format == "ply" else "model/obj"
    name = re.sub(r"[^\w.-]+", "-", f"{ask.run}-{ask.tag}").strip("-.") or "mesh"
    filename = f"{name}-{solid.about.step}.{ask.format}"
    return Blob(content, media_type, filename, immutable=ask.mark is not None)


def _make_ply(solid: Solid) -> bytes:
    fields = [(axis, "<f4") for axis in "xyz"]
    lines = ["ply", "format binary_little_endian 1.0", f"element vertex {len(solid.vertices)}"]
    lines += [f"property float {axis}" for axis in "xyz"]
    if solid.colors is not None:
        fields += [(shade, "u1") for shade in ("red", "green", "blue")]
        lines += [f"property uchar {shade}" for shade in ("red", "green", "blue")]
    rows = np.zeros(len(solid.vertices), fields)
    for number, axis in enumerate("xyz"):
        rows[axis] = solid.vertices[:, number]
    if solid.colors is not None:
        for number, shade in enumerate(("red", "green", "blue")):
            rows[shade] = solid.colors[:, number]
    body = rows.tobytes()
    if solid.faces is not None:
        lines += [f"element face {len(solid.faces)}", "property list uchar int vertex_indices"]
        triangles = np.zeros(len(solid.faces), [("count", "u1"), ("corners", "<i4", (3,))])
        triangles["count"] = 3
        triangles["corners"] = solid.faces
        body += triangles.tobytes()
    return "\n".join([*lines, "end_header\n"]).encode() + body


def _make_obj(solid: Solid) -> bytes:
    """Colours follow the coordinates, as most programs read them."""
    faces = np.zeros((0, 3), np.int32) if solid.faces is None else solid.faces
    lines = len(solid.vertices) + len(faces)
    if lines > _MOST_LINES:
        raise UsageError(
            f"an OBJ file of {lines:,} lines is too large to be of use; download PLY instead"
        )
    text = io.StringIO()
    if solid.colors is None:
        np.savetxt(text, solid.vertices, "v %.9g %.9g %.9g")
    else:
        rows = np.hstack([solid.vertices, solid.colors / 255.0])
        np.savetxt(text, rows, "v %.9g %.9g %.9g %.4g %.4g %.4g")
    np.savetxt(text, faces + 1, "f %d %d %d")
    return text.getvalue().encode()
