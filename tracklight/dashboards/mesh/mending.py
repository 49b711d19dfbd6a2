"""Arrays of any shape and type as the vertices, faces and colours that can be drawn.

What is wrong with them is told in notes, and as much is kept as makes sense.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.errors import FormatError
from tracklight.types import Float64, Int32

Bytes = NDArray[np.uint8]


def pick_vertices(array: NDArray[Any], item: int, notes: list[str]) -> Float64:
    """One item's vertices, [points, 3]."""
    if array.dtype.kind not in "fiub" or array.ndim not in (2, 3):
        raise FormatError(f"the vertices are {describe(array)}; they should be [batch, points, 3]")
    rows = _pick(array, item)
    width = rows.shape[1]
    if width < 2:
        raise FormatError(f"the vertices are {describe(array)}; they should be [batch, points, 3]")
    points = np.zeros((len(rows), 3))
    points[:, : min(width, 3)] = rows[:, :3]
    if width == 2:
        notes.append("The vertices have two numbers each; they lie in a plane.")
    elif width > 3:
        notes.append(f"The vertices have {width} numbers each, of which three are shown.")
    return points


def pick_faces(array: NDArray[Any], item: int, points: int, notes: list[str]) -> Int32 | None:
    """One item's triangles, [faces, 3], without those that name vertices that are not there."""
    if array.dtype.kind not in "fiub" or array.ndim not in (2, 3) or array.shape[-1] not in (3, 4):
        notes.append(f"The faces are {describe(array)} and not [batch, faces, 3]: not drawn.")
        return None
    # In floating point whatever is no index compares as such, as torch logs faces as float32.
    faces = _pick(array, item).astype(np.float64)
    good = ((faces >= 0) & (faces < points) & (faces == np.floor(faces))).all(axis=1)
    wrong = len(faces) - int(good.sum())
    if wrong:
        notes.append(
            f"{wrong:,} of {len(faces):,} faces name vertices that are not there "
            f"(there are {points:,}): not drawn."
        )
    whole: Int32 = faces[good].astype(np.int32)
    if whole.shape[1] == 4:
        whole = np.concatenate([whole[:, [0, 1, 2]], whole[:, [0, 2, 3]]])
    return whole


def pick_colors(array: NDArray[Any], item: int, points: int, notes: list[str]) -> Bytes | None:
    """One item's colours, [points, 3]; floats up to 1 and numbers up to 255 are both understood."""
    if array.dtype.kind not in "fiub" or array.ndim not in (2, 3):
        notes.append(f"The colours are {describe(array)} and not [batch, points, 3]: not shown.")
        return None
    rows = _pick(array, item)
    if len(rows) != points or rows.shape[1] not in (1, 3, 4):
        notes.append(
            f"There are {len(rows):,} colours of {rows.shape[1]} numbers "
            f"for {points:,} vertices: not shown."
        )
        return None
    shades = np.repeat(rows, 3, axis=1) if rows.shape[1] == 1 else rows[:, :3]
    if shades.dtype == np.uint8:
        return np.ascontiguousarray(shades)
    if shades.dtype.kind == "f":
        shades = np.nan_to_num(shades, nan=0.0, posinf=255.0, neginf=0.0)
    # All items of a batch are of one scale, however dark one of them is.
    is_share = array.dtype.kind in "fb" and _largest(array) <= 1
    return np.clip(np.rint(shades * (255.0 if is_share else 1.0)), 0, 255).astype(np.uint8)


def count_items(array: NDArray[Any]) -> int:
    """How many meshes a batch holds."""
    return len(array) if array.ndim == 3 else 1


def describe(array: NDArray[Any]) -> str:
    kind = "text" if array.dtype == object else str(array.dtype)
    return f"{kind} of shape {list(array.shape)}"


def _pick(array: NDArray[Any], item: int) -> NDArray[Any]:
    """One item of a batch. What is there once stands for all."""
    if array.ndim == 2:
        return array
    if not len(array):
        return np.zeros((0, array.shape[2]), array.dtype)
    return np.asarray(array[min(item, len(array) - 1)])


def _largest(array: NDArray[Any]) -> float:
    finite = array[np.isfinite(array)]
    return float(finite.max()) if len(finite) else 0.0
