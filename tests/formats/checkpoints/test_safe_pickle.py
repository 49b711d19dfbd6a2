"""Pickles are parsed and never executed."""

from __future__ import annotations

import collections
import contextlib
import os
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracklight.errors import FormatError
from tracklight.formats.checkpoints import torch_file
from tracklight.formats.checkpoints.torch_file import GlobalName, OpaqueObject, load_pickle

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=20,
)


@given(PLAIN, st.integers(2, 5))
def test_loads_plain_values(value: Any, protocol: int) -> None:
    assert load_pickle(pickle.dumps(value, protocol)) == value


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_loads_ordered_dicts_as_dicts(protocol: int) -> None:
    ordered = collections.OrderedDict(a=1, b=[2])
    assert load_pickle(pickle.dumps(ordered, protocol)) == {"a": 1, "b": [2]}
    assert load_pickle(pickle.dumps(collections.OrderedDict(), protocol)) == {}


class Evil:
    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.path}",)


def test_never_calls_functions(tmp_path: Path) -> None:
    path = tmp_path / "touched"
    value = load_pickle(pickle.dumps({"a": Evil(str(path))}, 2))
    assert isinstance(value["a"], OpaqueObject)
    assert isinstance(value["a"].cls, GlobalName)
    assert not path.exists()


def test_unknown_functions_of_torch_are_kept_as_objects() -> None:
    value = load_pickle(b"\x80\x02ctorch._utils\n_rebuild_other\n(K\x01tR.")
    assert isinstance(value, OpaqueObject)
    assert value.cls == GlobalName("torch._utils", "_rebuild_other")
    parameter = load_pickle(b"\x80\x02ctorch._utils\n_rebuild_parameter\n(K\x07\x88NtR.")
    assert parameter == 7


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x80\x02K\x01", "pickle exhausted|without an end"),
        (b"\x80\x02u.", "is invalid"),
        (b"\x80\x02K\x01t.", "a mark is missing"),
        (b"cos\nsystem\n(S'ls'\ntR.", "which is not supported"),
        (b"\x80\x02}(K\x01\x85K\x02u.", "a key of type tuple"),
        (b"\x80\x02K\x01(K\x01K\x02u.", "that is not a dict"),
        (b"\x80\x02X\x01\x00\x00\x00aK\x01K\x02\x87Q.", "refers to a 'a'"),
        (b"\x80\x02r\xff\xff\xff\xff.", "is invalid"),
        (b"ctorch._utils\n_rebuild_tensor_v2\n(K\x01K\x01K\x01K\x01tR.", "is invalid"),
        (b"ctorch._utils\n_rebuild_tensor_v2\n(K\x01K\x00K\x02\x85K\x01\x85tR.", "invalid tensor"),
    ],
)
def test_invalid_pickle_raises(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        load_pickle(data)


def test_too_long_pickle_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_file, "MAX_PICKLE_BYTES", 10)
    with pytest.raises(FormatError, match="more than 10"):
        load_pickle(pickle.dumps("a long text"))


@given(st.binary(max_size=200))
def test_random_bytes_raise_only_format_error(data: bytes) -> None:
    with contextlib.suppress(FormatError):
        load_pickle(b"\x80\x02" + data)
