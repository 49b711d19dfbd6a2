from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.server.columns_decoder import read_columns
from tracklight.server.responses import encode_columns


class Line(msgspec.Struct):
    run: str
    y: object


WIRE_DTYPES = {
    "float16": "float32",
    "float32": "float32",
    "float64": "float64",
    "int8": "int32",
    "int16": "int32",
    "int32": "int32",
    "int64": "int64",
    "uint8": "uint8",
    "uint16": "int32",
    "uint32": "int64",
    "uint64": "float64",
    "bool": "uint8",
}


@given(
    dtype=st.sampled_from(sorted(WIRE_DTYPES)),
    length=st.integers(0, 40),
    name=st.text(max_size=20),
    data=st.data(),
)
def test_arrays_round_trip(dtype: str, length: int, name: str, data: st.DataObject) -> None:
    array = data.draw(hnp.arrays(dtype, length))
    response = read_columns(
        encode_columns({"lines": [Line(name, array), Line("b", array[::2])], "n": 1})
    )
    first, second = response["lines"]
    assert (first["run"], response["n"]) == (name, 1)
    assert first["y"].dtype == WIRE_DTYPES[dtype]
    np.testing.assert_array_equal(first["y"], array.astype(WIRE_DTYPES[dtype]))
    np.testing.assert_array_equal(second["y"], array[::2].astype(WIRE_DTYPES[dtype]))


def test_equal_arrays_are_sent_once() -> None:
    steps = np.arange(100)
    body = encode_columns([steps, steps.copy(), steps.astype(np.float64), steps + 1])
    arrays = read_columns(body)
    for array, expected in zip(arrays, [steps, steps, steps, steps + 1], strict=True):
        np.testing.assert_array_equal(array, expected)
    assert len(body) < 4 * steps.nbytes


def test_numpy_scalars_are_json_numbers() -> None:
    assert read_columns(encode_columns({"n": np.int64(3), "x": np.float32(0.5)})) == {
        "n": 3,
        "x": 0.5,
    }


def test_big_endian_arrays_are_converted() -> None:
    (back,) = read_columns(encode_columns([np.array([1.5, -2.0], ">f8")]))
    assert back.tolist() == [1.5, -2.0]


@pytest.mark.parametrize("array", [np.zeros((2, 2)), np.array(["a"]), np.array([1j])])
def test_unsupported_arrays_raise_type_error(array: object) -> None:
    with pytest.raises(TypeError):
        encode_columns([array])
