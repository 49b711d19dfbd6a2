"""Open files that other libraries wrote; ``told.json`` contains what those libraries read."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.formats.checkpoints.digests import describe
from tracklight.errors import FormatError, MissingDependencyError
from tracklight.formats.checkpoints import open_tensor_bytes, open_tensor_file

DATA = Path(__file__).parents[2] / "data" / "weights"
EXPECTED = json.loads((DATA / "told.json").read_text())


@pytest.mark.parametrize("name", EXPECTED)
def test_tensors_match_the_libraries(name: str) -> None:
    with (DATA / name).open("rb") as file:
        opened = open_tensor_file(file, name)
        found = {info.key: describe(opened.read(info.key)) for info in opened.list_tensors()}
        assert all(list(info.shape) == found[info.key]["shape"] for info in opened.list_tensors())
    assert {key: found[key] for key in EXPECTED[name]} == EXPECTED[name]


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("checkpoint.pth", {"words.weight", "out.0.weight", "out.0.bias"}),
        ("model.pt", {"words.weight", "out.0.weight"}),
        ("lone.pt", {"lone"}),
        ("keras.weights.h5", {"words", "out/0", "out/1"}),
        ("whole.keras", {"words", "out/0"}),
        ("old.h5", {"sequential/words/embeddings", "sequential/out/kernel"}),
    ],
)
def test_names_of_weights(name: str, names: set[str]) -> None:
    opened = open_tensor_bytes((DATA / name).read_bytes(), name)
    shown = {info.name for info in opened.list_tensors() if not info.is_optimizer_state}
    assert names <= shown
    assert not any("optim" in name or "exp_avg" in name for name in shown)


def test_opens_tables_and_arrays() -> None:
    buffer = io.BytesIO()
    np.save(buffer, np.eye(3))
    assert (
        open_tensor_bytes(buffer.getvalue(), "eye.npy").read("eye").tolist() == np.eye(3).tolist()
    )
    assert open_tensor_bytes(b"1\t2\n3\t4\n", "a.TSV").read("a").tolist() == [[1, 2], [3, 4]]
    assert open_tensor_bytes(b"x,y\n1.5,2\n", "a.csv").list_tensors()[0].shape == (1, 1)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        (
            "old.pt",
            (DATA / "old.pt").read_bytes(),
            r'"old\.pt" cannot be read: it was saved by PyTorch before 1\.6',
        ),
        ("a.pt", b"hello", "or is incomplete"),
        ("a.pt", (DATA / "odd.pt").read_bytes()[:-90], "damaged or incomplete"),
        ("a.pt", (DATA / "whole.keras").read_bytes(), r"not written by torch\.save"),
        ("a.keras", (DATA / "odd.pt").read_bytes(), "contains no readable weights"),
        ("a.h5", (DATA / "old.h5").read_bytes()[:900], "damaged or incomplete"),
        ("a.npz", b"PK\x03\x04", "damaged or incomplete"),
        ("a.doc", b"", r'"a\.doc" has an unknown file type; supported are \.npy'),
    ],
)
def test_unreadable_files_raise(name: str, data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        open_tensor_bytes(data, name)


def test_hdf5_without_h5py_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "h5py", None)
    with pytest.raises(MissingDependencyError, match=r"tracklight\[projector\]"):
        open_tensor_bytes(b"", "a.h5")


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["odd.pt", "checkpoint.pth", "model.pt", "odd.safetensors"]),
    st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=4),
    st.floats(0, 1),
)
def test_damaged_files_raise_only_format_error(
    name: str, changes: list[tuple[float, int]], cut: float
) -> None:
    data = bytearray((DATA / name).read_bytes())
    for place, byte in changes:
        data[int(place * len(data))] = byte
    for part in (data, data[: int(cut * len(data))]):
        with contextlib.suppress(FormatError):
            opened = open_tensor_bytes(bytes(part), name)
            for info in opened.list_tensors():
                with contextlib.suppress(FormatError):
                    opened.read(info.key)
