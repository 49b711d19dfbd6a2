from __future__ import annotations

import contextlib
import gc
import io
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tracklight.errors import FormatError, MissingDependencyError, UsageError
from tracklight.formats.checkpoints import TableFile, open_csv, open_parquet


def csv(text: str) -> TableFile:
    return open_csv(io.BytesIO(text.encode()), "table")


def parquet(**columns: Any) -> TableFile:
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return open_parquet(io.BytesIO(buffer.getvalue()), "table")


def test_float_columns_are_vectors_and_others_labels() -> None:
    file = csv('id,name,x,y\n1,"a, b",0.5,2\n2,c,,1.5\n')
    vectors = file.read("table")
    np.testing.assert_array_equal(vectors, np.array([[0.5, 2], [np.nan, 1.5]], np.float32))
    assert file.labels == {"id": ["1", "2"], "name": ["a, b", "c"]}
    with pytest.raises(UsageError):
        file.read("x")


def test_integer_table_without_header_is_all_vectors() -> None:
    assert csv("1;2\n3;4\n").read("table").tolist() == [[1, 2], [3, 4]]
    assert csv("a,b\n1,2\n").read("table").tolist() == [[1, 2]]
    assert csv("a,a\n1.5,x\n").labels == {"a 2": ["x"]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("a,b\n1,2,3\n", "line 2 has 3 cells instead of 2"),
        ("a,b\nx,y\n", "has no column of numbers"),
        ("a,b\n", "has no column of numbers"),
    ],
)
def test_invalid_table_raises(text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        csv(text)


def test_invalid_csv_releases_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """The file may be closed while the error, which refers to the parser, is still alive."""
    unraisable: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)
    file = io.BytesIO(b"a,b\n1,2,3\n")
    try:
        open_csv(file, "table")
    except FormatError as error:
        kept: FormatError | None = error
    file.close()
    assert kept is not None
    kept = None
    gc.collect()
    assert unraisable == []


def test_parquet_lists_are_vectors() -> None:
    fixed = pa.array([[1.0, 2.0], [3.0, 4.0]], pa.list_(pa.float32(), 2))
    file = parquet(v=fixed, w=[[1.5], [2.5]], name=["a", None], rank=[1, 2], score=[0.5, 0.25])
    assert file.read("v").tolist() == [[1, 2], [3, 4]]
    assert file.read("w").tolist() == [[1.5], [2.5]]
    assert file.labels == {"name": ["a", ""], "rank": ["1", "2"], "score": ["0.5", "0.25"]}


def test_parquet_float_columns_are_one_vector_per_row() -> None:
    file = parquet(x=[1.5, None], y=[2.0, 3.0], label=["a", "b"])
    np.testing.assert_array_equal(file.read("table"), np.array([[1.5, 2], [np.nan, 3]], np.float32))
    assert parquet(x=[1, 2]).read("table").tolist() == [[1], [2]]


def test_parquet_lists_of_different_lengths_raise() -> None:
    for lists in ([[1.0], [2.0, 3.0]], [[1.0], None]):
        with pytest.raises(FormatError, match='"v" have different lengths'):
            parquet(v=lists)


def test_parquet_without_pyarrow_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingDependencyError, match=r"tracklight\[projector\]"):
        open_parquet(io.BytesIO(b""), "a")


@example(b"1,2\n\t,3\n")
@given(st.binary(max_size=60) | st.text('1.,;\n"a', max_size=60).map(str.encode))
def test_random_bytes_raise_only_format_error(data: bytes) -> None:
    for opener in (open_csv, open_parquet):
        with contextlib.suppress(FormatError):
            opener(io.BytesIO(data), "table")
