"""Any three arrays are drawn as a mesh, or rejected with a message."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tests.dashboards.mesh.scene import Scene, make_part, write_run
from tracklight.errors import TracklightError

dtypes = st.sampled_from(["f4", "f8", "i4", "u1", "i8", "?", "f2"])
shapes = st.sampled_from([(1, 4, 3), (2, 4, 3), (4, 3), (1, 4, 4), (1, 0, 3), (0, 4, 3), (1, 4, 2)])
any_array = dtypes.flatmap(
    lambda dtype: arrays.arrays(dtype, shapes | arrays.array_shapes(max_dims=4, max_side=5))
)
small = arrays.arrays("i4", shapes, elements=st.integers(-1, 5))


@settings(max_examples=60, deadline=None)
@given(any_array, any_array | small, any_array, st.integers(0, 3), st.text(max_size=20))
def test_any_arrays_are_drawn_or_rejected(
    vertices: Any, faces: Any, colors: Any, item: int, config: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        parts = [make_part("m_VERTEX", vertices, config=config.encode(errors="replace").decode())]
        parts += [make_part("m_FACE", faces), make_part("m_COLOR", colors)]
        write_run(Path(folder), (0, parts))
        scene = Scene(Path(folder))
        try:
            with np.errstate(all="ignore"):
                geometry = scene.geometry("m", item=item)
                blob = scene.request("file", run="run", tag="m", index=0, item=item)
        except TracklightError as error:
            assert str(error)
            return
        finally:
            scene.catalog.close()
    points = len(geometry.position) // 3
    assert np.isfinite(geometry.position).all()
    assert np.abs(geometry.position).max(initial=0) <= 1
    if geometry.face is not None:
        assert 0 <= geometry.face.min()
        assert geometry.face.max() < points
        assert len(geometry.normal) == 3 * points
    if geometry.color is not None:
        assert len(geometry.color) == 3 * points
    assert blob.content.startswith(b"ply\n")
