"""Reading CSV, JSON lines and Parquet, and tables of Python libraries."""

from __future__ import annotations

import datetime
import gzip
import io
import zlib
from decimal import Decimal
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


PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
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


def test_columns_without_a_name_get_one() -> None:
    """The index that pandas writes has none."""
    stream = io.StringIO()
    pandas.DataFrame({"a": [1.5]}).to_csv(stream)
    assert read("x.csv", stream.getvalue().encode()).names == ("Unnamed: 0", "a")
    assert read("x.csv", b"a,,\n1,2,3\n").names == ("a", "Unnamed: 1", "Unnamed: 2")
    assert read("x.jsonl", b'{"a": 1, "": 2}\n').to_rows() == [{"a": 1, "Unnamed: 1": 2}]


def test_two_columns_of_one_name_are_an_error() -> None:
    table = pyarrow.table([[1], [2]], names=["a", "a"])
    stream = io.BytesIO()
    pyarrow.parquet.write_table(table, stream)
    with pytest.raises(FormatError, match="two columns are named"):
        read("x.parquet", stream.getvalue())
    frame = pandas.DataFrame([[1, 2]], columns=["a", "a"])
    for data in (table, frame):
        with pytest.raises(UsageError, match='two columns are named "a"'):
            to_table(data)


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


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (3, "builtins.int is not a table; pass a pandas, Arrow or Polars table"),
        (["ab", "cd"], "builtins.list is not a table"),
        ([b"ab", b"cd"], "builtins.list is not a table"),
        ([1, 2], "builtins.list is not a table"),
        ([{"a": 1}, [2]], "builtins.list is not a table"),
        ([np.array(1), np.array(2)], "builtins.list is not a table"),
        ("people.csv", r"read a file with tracklight.what_if.read_table\(path\) first"),
        ({"a": [1, 2], "b": [1]}, "different lengths"),
        ([[1, 2], [3]], "the rows have different numbers of values"),
    ],
)
def test_other_objects_are_rejected(data: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        to_table(data)


def test_rows_that_are_lists_have_names() -> None:
    rows = [[1, "x"], (2, None), np.array([3, 4], object)]
    assert to_table(rows, ["n", "t"]).to_rows() == [
        {"n": 1, "t": "x"}, {"n": 2, "t": None}, {"n": 3, "t": "4"},
    ]  # fmt: skip
    assert to_table([[1, 2]]).names == ("feature_0", "feature_1")
    with pytest.raises(UsageError, match="1 names were given for rows of 2 values"):
        to_table(rows, ["n"])


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pandas.Categorical([3, None, 1]), [3, None, 1]),
        (pandas.Categorical([1.5, None, 2]), [1.5, None, 2.0]),
        (pandas.Categorical([True, None, False]), [True, None, False]),
        (pandas.Categorical(["a", 1, None]), ["a", "1", None]),
        (pandas.to_datetime(["2020-01-02", None]), ["2020-01-02T00:00:00", None]),
        (pandas.to_timedelta([1, None], "h"), ["0 days 01:00:00", None]),
        (np.array([b"x", None, pandas.NA], object), ["x", None, None]),
    ],
    ids=["integers", "floats", "booleans", "mixed", "times", "durations", "bytes"],
)
def test_unusual_pandas_columns(values: Any, expected: list[Any]) -> None:
    frame = pandas.DataFrame({"x": values})
    for table in (to_table(frame), to_table({"x": frame["x"]})):
        column = table.get_column("x")
        assert [column.get_value(row) for row in range(len(column))] == expected


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (pyarrow.array([datetime.date(2020, 1, 2), None]), ["2020-01-02", None]),
        (pyarrow.array([datetime.time(1, 2), None], pyarrow.time32("s")), ["01:02:00", None]),
        (pyarrow.array([b"\xff\0", None]), [b"\xff\0", None]),
        (pyarrow.array([b"\xff\0", None], pyarrow.large_binary()), [b"\xff\0", None]),
        (pyarrow.array([{"bytes": PNG, "path": "a"}, None]), [PNG, None]),
        (pyarrow.array([{"a": 1}, None]), ["{'a': 1}", None]),
        (pyarrow.array([["a", "b"], None]), [["a", "b"], None]),
        (pyarrow.array([[[1], [2, 3]], None]), [[[1], [2, 3]], None]),
        (pyarrow.array([5, None, 5]).dictionary_encode(), [5, None, 5]),
        (pyarrow.array([None, None]), [None, None]),
        (pyarrow.array(["a", None], pyarrow.string_view()), ["a", None]),
        (pyarrow.array([Decimal("1.5"), None]), [1.5, None]),
    ],
    ids=lambda value: str(getattr(value, "type", "")),
)
def test_unusual_arrow_columns(array: Any, expected: list[Any]) -> None:
    table = pyarrow.table({"x": array})
    chunked = pyarrow.chunked_array([array.slice(0, 1), array.slice(1)])
    for data in (table, table.to_batches()[0], pyarrow.table({"x": chunked})):
        column = to_table(data).get_column("x")
        assert [column.get_value(row) for row in range(len(column))] == expected


def test_arrow_columns_without_rows() -> None:
    empty = pyarrow.table({"x": pyarrow.chunked_array([], pyarrow.int64())})
    table = to_table(empty)
    assert len(table) == 0 and table.get_column("x").type == "integer"


@pytest.mark.parametrize("unit", ["D", "s", "us", "ns"])
def test_numpy_times_are_texts_in_all_units(unit: str) -> None:
    times = np.array(["2020-01-02", "NaT"], f"M8[{unit}]")
    expected = "2020-01-02" if unit == "D" else "2020-01-02 00:00:00"
    assert to_table({"t": times}).to_rows() == [{"t": expected}, {"t": None}]


def test_columns_of_any_iterable() -> None:
    columns = {"a": iter([1, 2]), "b": {"x": 1.5, "y": None}.values(), "c": range(2)}
    assert to_table(columns).to_rows() == [{"a": 1, "b": 1.5, "c": 0}, {"a": 2, "b": None, "c": 1}]
    assert to_table(np.array([3, 4])).to_rows() == [{"feature_0": 3}, {"feature_0": 4}]
    assert to_table(np.array(3)).to_rows() == [{"feature_0": 3}]


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"sampling_ratio": 0}, "the sampling ratio must be above 0 and at most 1"),
        ({"sampling_ratio": 1.5}, "the sampling ratio must be above 0 and at most 1"),
        ({"max_rows": 0}, "the maximum number of rows must be at least 1"),
    ],
)
def test_invalid_limits(limits: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ReadLimits(**limits)


def test_a_list_of_no_files() -> None:
    with pytest.raises(UsageError, match="no file was given"):
        read_files([], lambda path: io.BytesIO())


def test_files_whose_columns_have_other_types_do_not_fit() -> None:
    files = {"1.jsonl": b'{"a": 1}\n', "2.jsonl": b'{"a": "x"}\n'}
    with pytest.raises(FormatError, match='the files do not fit together: "a" has values of diff'):
        read_files(list(files), lambda path: io.BytesIO(files[path]))


def test_zlib_data_that_is_no_tfrecord() -> None:
    with pytest.raises(FormatError, match="it is not a TFRecord file; other formats need a suffix"):
        read("x.tfrecord", zlib.compress(b"a,b\n1,2\n" * 10))


@pytest.mark.parametrize("name", ["x.csv.gz", "x.jsonl.gz"])
def test_truncated_compressed_files_are_damaged(name: str) -> None:
    lines = b'{"a": "' + np.random.default_rng(0).bytes(4000).hex().encode() + b'"}\n'
    with pytest.raises(FormatError, match="it is damaged: Compressed file ended"):
        read(name, gzip.compress(lines * 3)[:2000])


def test_values_that_look_like_numbers_only_in_python_stay_texts() -> None:
    table = read("x.csv", b"a,b\n1_000,9223372036854775808\n2,1\n")
    assert table.to_rows() == [{"a": "1_000", "b": 2.0**63}, {"a": "2", "b": 1.0}]


def test_a_csv_file_larger_than_a_chunk() -> None:
    assert len(read("x.csv", b"a\n" + b"1\n\n" * 50_000)) == 50_000
    table = read("x.csv", b"a\n" + b"1\n" * 50_001)
    assert len(table) == table.get_column("a").values.sum() == 50_001
    assert len(read("x.csv", b"a\n" + b"1\n" * 50_001, max_rows=50_000)) == 50_000


def test_json_lines_stop_at_the_row_limit() -> None:
    data = b'{"a": 1}\n' * 50_000 + b'{"b": 2}\n' * 10
    table = read("x.jsonl", data)
    assert table.get_row(0) == {"a": 1, "b": None}
    assert table.get_row(50_009) == {"a": None, "b": 2}
    limited = read("x.jsonl", data, max_rows=50_000)
    assert limited.names == ("a",) and len(limited) == 50_000
    assert limited.problems[0].startswith("only the first 50,000 rows were read")


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
