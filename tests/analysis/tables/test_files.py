"""Reading CSV, JSON lines and Parquet, and tables of Python libraries."""

from __future__ import annotations

import gzip
import io
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest

from tracklight.analysis.tables import DataTable
from tracklight.analysis.tables.examples import encode_examples
from tracklight.analysis.tables.files import ReadLimits, read_files
from tracklight.analysis.tables.objects import to_table
from tracklight.errors import FormatError, LogError, UsageError
from tracklight.formats.tfrecord import write_records
from tracklight.util.memory import get_memory_size


def read(name: str, data: bytes, **limits: Any) -> DataTable:
    return read_files([name], lambda path: io.BytesIO(data), ReadLimits(**limits))


CSV = b"""age, income,job,married,scores,code
39,1.5,clerk,true,1|2.5,007a
17,,"cook, head",False,3,1
90,-2e3,,TRUE,4|5|6,2
"""


@pytest.mark.parametrize("name", ["data.csv", "data.csv.gz"])
def test_csv_types_are_inferred_by_column(name: str) -> None:
    table = read(name, gzip.compress(CSV) if name.endswith("gz") else CSV)
    assert {name: column.type for name, column in table.columns.items()} == {
        "age": "integer",
        "income": "float",
        "job": "string",
        "married": "boolean",
        "scores": "float",
        "code": "string",
    }
    assert table.get_row(1) == {
        "age": 17,
        "income": None,
        "job": "cook, head",
        "married": False,
        "scores": [3.0],
        "code": "1",
    }


def test_csv_with_lines_of_other_lengths_reports_them() -> None:
    table = read("x.csv", b"a,b\n1,2\n3\n4,5,6\n")
    assert table.to_rows() == [{"a": 1, "b": 2}, {"a": 3, "b": None}, {"a": 4, "b": 5}]
    assert table.problems == (
        "2 lines do not have 2 cells; missing cells are empty, additional cells are ignored",
    )


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("x.csv", b"", "the file is empty"),
        ("x.csv", b"a,a\n1,2\n", 'two columns are named "a"'),
        ("x.csv", b"\0\1\2", "not a text file"),
        ("x.csv.gz", b"\x1f\x8bbroken", "x.csv.gz"),
        ("x.jsonl", b'{"a": 1}\n{"a": \n', "line 2 is not valid"),
        ("x.jsonl", b"[1]\n", "line 1 is not valid"),
        ("x.parquet", b"no parquet", "x.parquet"),
    ],
)
def test_damaged_files_are_one_sentence(name: str, data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read(name, data)


def test_json_lines_with_nested_objects_and_missing_keys() -> None:
    table = read("x.jsonl", b'{"a": 1, "user": {"age": 3}}\n\n{"a": 2.5, "tags": ["x", "y"]}\n')
    assert table.to_rows() == [
        {"a": 1.0, "user.age": 3, "tags": None},
        {"a": 2.5, "user.age": None, "tags": ["x", "y"]},
    ]


def test_parquet_with_row_limit() -> None:
    stream = io.BytesIO()
    frame = pandas.DataFrame({"a": [1, 2, 3], "b": ["x", None, "y"], "c": [[1.0], [2.0, 3.0], []]})
    pyarrow.parquet.write_table(pyarrow.Table.from_pandas(frame), stream)
    table = read("x.parquet", stream.getvalue())
    assert table.get_row(1) == {"a": 2, "b": None, "c": [2.0, 3.0]}
    assert len(read("x.parquet", stream.getvalue(), max_rows=2)) == 2


def test_several_files_are_one_table_and_must_agree() -> None:
    files = {"1.csv": b"a,b\n1,x\n", "2.csv": b"a,b\n2.5,y\n", "3.csv": b"z\n1\n"}

    def open_file(path: str) -> io.BytesIO:
        return io.BytesIO(files[path])

    joined = read_files(["1.csv", "2.csv"], open_file)
    assert joined.to_rows() == [{"a": 1.0, "b": "x"}, {"a": 2.5, "b": "y"}]
    with pytest.raises(FormatError, match=r'"3.csv" does not have the same columns as "1.csv"'):
        read_files(["1.csv", "3.csv"], open_file)


def test_missing_file_is_reported() -> None:
    with pytest.raises(LogError, match=r'cannot read ".*none.csv": No such file'):
        read_files(["/tmp/none.csv"], lambda path: open(path, "rb"))


FRAME = pandas.DataFrame(
    {
        "i": [1, 2, 3],
        "f": [0.5, np.nan, 2.0],
        "s": ["a", None, "b"],
        "c": pandas.Categorical(["x", "y", "x"]),
        "b": [True, False, True],
        "n": pandas.array([1, None, 3], dtype="Int64"),
    }
)
EXPECTED = [
    {"i": 1, "f": 0.5, "s": "a", "c": "x", "b": True, "n": 1},
    {"i": 2, "f": None, "s": None, "c": "y", "b": False, "n": None},
    {"i": 3, "f": 2.0, "s": "b", "c": "x", "b": True, "n": 3},
]


@pytest.mark.parametrize(
    "data",
    [FRAME, pyarrow.Table.from_pandas(FRAME), polars.from_pandas(FRAME), EXPECTED],
    ids=["pandas", "arrow", "polars", "rows"],
)
def test_tables_of_libraries_have_the_same_values(data: Any) -> None:
    table = to_table(data)
    assert table.to_rows() == EXPECTED
    assert [column.type for column in table.columns.values()] == [
        "integer", "float", "string", "string", "boolean", "integer",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "kind",
    [
        pyarrow.list_(pyarrow.float32()),
        pyarrow.large_list(pyarrow.float64()),
        pyarrow.list_(pyarrow.float32(), 2),
    ],
    ids=["list", "large", "fixed"],
)
def test_arrow_lists_are_vectors(kind: Any) -> None:
    rows = [[1.0, 2.0], None, [3.0, 4.5]]
    table = pyarrow.table({"v": pyarrow.array([[9.0, 9.0], *rows], kind)}).slice(1)
    column = to_table(table).get_column("v")
    assert [column.get_value(row) for row in range(3)] == rows
    assert column.type == "float" and column.select_missing().tolist() == [False, True, False]


def test_missing_items_of_arrow_lists() -> None:
    column = to_table(pyarrow.table({"v": [[1, None], [], [3]]})).get_column("v")
    assert [column.get_value(row) for row in range(3)] == [[1.0, None], [], [3.0]]


@pytest.mark.slow
def test_hugging_face_dataset_with_a_selection() -> None:
    datasets = pytest.importorskip("datasets")
    dataset = datasets.Dataset.from_dict({"x": [1, 2, 3, 4], "t": ["a", "b", "c", "d"]})
    table = to_table(dataset.select([3, 1]))
    assert table.to_rows() == [{"x": 4, "t": "d"}, {"x": 2, "t": "b"}]
    with pytest.raises(UsageError, match="pass one of its splits"):
        to_table(datasets.DatasetDict({"train": dataset}))


def test_numpy_arrays() -> None:
    table = to_table(np.arange(6).reshape(3, 2), ["a", "b"])
    assert table.to_rows() == [{"a": 0, "b": 1}, {"a": 2, "b": 3}, {"a": 4, "b": 5}]
    images = to_table(np.zeros((2, 4, 4)))
    assert images.get_column("feature_0").find_list_length() == 16
    structured = np.array([(1, b"x")], dtype=[("n", "i4"), ("s", "S3")])
    assert to_table(structured).to_rows() == [{"n": 1, "s": "x"}]
    with pytest.raises(UsageError, match="1 names were given for 2 columns"):
        to_table(np.zeros((3, 2)), ["a"])


def test_other_objects_are_rejected() -> None:
    with pytest.raises(UsageError, match="is not a table"):
        to_table(3)
    with pytest.raises(UsageError, match="different lengths"):
        to_table({"a": [1, 2], "b": [1]})


def test_a_file_that_needs_too_much_memory_is_read_in_part() -> None:
    columns = {f"x{number}": np.arange(1000.0) for number in range(20)}
    stream = io.BytesIO()
    write_records(stream, encode_examples(to_table(columns)))
    copies = 40 * (1 << 20) // len(stream.getvalue())  # several blocks
    data = stream.getvalue() * copies
    table = read("large.tfrecord", data, max_bytes=len(data) // 2)
    assert 0 < len(table) < 1000 * copies
    (problem,) = table.problems
    assert problem.startswith(f"only the first {len(table):,} rows were read, because they take")
    assert problem.endswith("of memory; sample fewer rows")


def test_the_default_limit_is_a_part_of_the_memory() -> None:
    assert 0 < ReadLimits().max_bytes <= min(4 << 30, get_memory_size() // 4)
