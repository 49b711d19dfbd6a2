"""Columns: types, missing values, lists, selection and edits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tracklight.analysis.tables import DataTable, make_table
from tracklight.analysis.tables.columns import (
    DataColumn,
    concat_columns,
    is_image,
    make_column,
    make_list_column,
    make_missing_column,
)
from tracklight.analysis.tables.objects import to_table
from tracklight.errors import UsageError

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2, None], "integer"),
        ([1, 2.5], "float"),
        ([True, None], "boolean"),
        (["a", None, "b"], "string"),
        ([b"text", b"more"], "string"),
        ([PNG, PNG], "image"),
        ([b"\xff\x00", b"a"], "bytes"),
        ([b"\xff", b"a"], "bytes"),
        ([b"", None], "string"),
        ([None], "float"),
        ([1, "a"], "string"),
        ([[1, 2], [3]], "integer"),
        ([2**70, 1], "float"),
    ],
)
def test_type_is_inferred_from_all_values(values: list[object], expected: str) -> None:
    column = make_column("x", values)
    assert column.type == expected
    assert len(column) == len(values)


@pytest.mark.parametrize(
    "values",
    [
        [1, None, 3],
        [1.5, None],
        [True, None, False],
        ["a", None, "b", "a"],
        [[1, 2], None, [], [3]],
        [["a"], ["b", "c"]],
        [[[1, 2], [3]], [], [[4]]],
        [PNG, None],
    ],
)
def test_values_survive_a_round_trip_and_selection(values: list[object]) -> None:
    column = make_column("x", values)
    assert [column.get_value(row) for row in range(len(column))] == values
    rows = [len(values) - 1, 0, 0]
    assert [column.take(rows).get_value(row) for row in range(3)] == [values[r] for r in rows]
    joined = concat_columns([column, column])
    assert [joined.get_value(row) for row in range(len(joined))] == values * 2
    missing = [value is None or value == [] for value in values]
    assert column.select_missing().tolist() == missing


def test_selection_of_all_rows_copies_nothing() -> None:
    table = make_table([{"x": 1, "text": "a"}, {"x": 2, "text": "b"}, {"x": 3, "text": "a"}])
    for rows in (np.array([True, True, True]), np.arange(3)):
        taken = table.take(rows)
        assert all(taken.columns[name] is column for name, column in table.columns.items())
    for rows, expected in (([0, 2, 1], [1, 3, 2]), ([0, 1], [1, 2]), ([0, 1, 1], [1, 2, 2])):
        assert table.take(rows).get_column("x").values.tolist() == expected


def test_lists_of_float32_stay_float32_by_an_edit() -> None:
    column = DataColumn(
        "v", "float", np.arange(6, dtype=np.float32), offsets=np.array([0, 2, 4, 4, 6])
    )
    edited = column.with_values(np.array([1]), [[0.5, 0.25, 0.125]])
    assert edited.values.dtype == np.float32
    values = [edited.get_value(row) for row in range(4)]
    assert values == [[0.0, 1.0], [0.5, 0.25, 0.125], [], [4.0, 5.0]]
    assert edited.take([3, 0]).values.tolist() == [4, 5, 0, 1]
    assert edited.take([-1]).get_value(0) == [4, 5]
    removed = column.with_values(np.array([3]), [None])
    assert [removed.get_value(row) for row in range(4)] == [[0.0, 1.0], [2.0, 3.0], [], None]


def test_a_step_of_sequences_is_edited() -> None:
    rows = [[["a"], ["b", "c"]], [["d"]], [[], ["e"]]]
    edited = make_column("words", rows).with_values(np.array([1]), [[["x"], ["d", "y"]]])
    assert [edited.get_value(row) for row in range(3)] == [rows[0], [["x"], ["d", "y"]], rows[2]]


def test_integer_column_becomes_float_by_an_edit() -> None:
    column = make_column("x", [1, 2, 3]).with_values(np.array([1]), [2.5])
    assert column.type == "float"
    assert column.values.tolist() == [1.0, 2.5, 3.0]


def test_constant_replaces_some_rows() -> None:
    column = make_column("x", ["a", None, "b"]).with_constant(slice(0, 2), "c")
    assert [column.get_value(row) for row in range(3)] == ["c", "c", "b"]
    numbers = make_column("x", [1, None, 3]).with_constant(slice(0, 2), 0.5)
    assert [numbers.get_value(row) for row in range(3)] == [0.5, 0.5, 3.0]


@pytest.mark.parametrize(
    ("values", "value", "message"),
    [
        ([PNG], "x", '"f" needs an image value, not "x"'),
        ([1, 2], "x" * 99, f'"f" needs an integer value, not "{"x" * 56}...'),
        ([1, 2], "x", '"f" needs an integer value, not "x"'),
        ([1.5], b"abc", '"f" needs a float value, not 3 bytes'),
        (["a"], 3, '"f" needs a string value, not 3'),
        ([[1]], 3, '"f" needs a list of values'),
        ([True], 7, '"f" needs a boolean value, not 7'),
    ],
)
def test_wrong_types_are_rejected(values: list[object], value: object, message: str) -> None:
    with pytest.raises(UsageError) as error:
        make_column("f", values).check_value(value)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("values", "value", "expected"),
    [
        (["a"], b"x\xff", "x\\xff"),
        ([1, 2], np.int32(3), 3),
        ([1, 2], np.float32(2.0), 2),
        ([1.5], 2, 2.0),
        ([[1, 2]], (np.int64(1), None), [1, None]),
        ([[[1]]], [[2], np.array([3, 4])], [[2], [3, 4]]),
        ([1], None, None),
        ([PNG], b"", b""),
    ],
)
def test_values_are_converted_to_the_type_of_the_column(
    values: list[object], value: object, expected: object
) -> None:
    checked = make_column("f", values).check_value(value)
    assert checked == expected and type(checked) is type(expected)


@pytest.mark.parametrize(
    ("values", "value", "expected"),
    [
        ([1, None, 3], 2.5, [2.5, 2.5, 3.0]),
        ([1, None, 3], 5, [5, 5, 3]),
        ([True, None, True], False, [False, False, True]),
        (["a", "b", None], "b", ["b", "b", None]),
        (["a", "b", "c"], None, [None, None, "c"]),
        ([1.5, 2.5, 3.5], None, [None, None, 3.5]),
        ([PNG, None, PNG], b"x", [b"x", b"x", PNG]),
        ([[1], [2, 3], []], [4, 5], [[4, 5], [4, 5], []]),
    ],
)
def test_constant_of_all_types(values: list[Any], value: Any, expected: list[Any]) -> None:
    column = make_column("x", values)
    for rows in (slice(0, 2), np.array([0, 1])):
        changed = column.with_constant(rows, value)
        assert [changed.get_value(row) for row in range(3)] == expected
    assert [column.get_value(row) for row in range(3)] == values


@pytest.mark.parametrize(
    ("first", "second", "expected", "kind"),
    [
        ([1, None], [2.5], [1.0, None, 2.5], "float"),
        ([True], [3], [1, 3], "integer"),
        ([PNG], [b"\xff\0"], [PNG, b"\xff\0"], "bytes"),
        ([b"\xff\0"], ["text", None], [b"\xff\0", b"text", None], "bytes"),
        ([[1, 2]], [3, None], [[1, 2], [3], None], "integer"),
        (["a", "b"], ["b", None, "c"], ["a", "b", "b", None, "c"], "string"),
    ],
)
def test_columns_of_different_types_are_joined(
    first: list[Any], second: list[Any], expected: list[Any], kind: str
) -> None:
    joined = concat_columns([make_column("x", first), make_column("x", second)])
    assert joined.type == kind
    assert [joined.get_value(row) for row in range(len(joined))] == expected


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ([1], ["a"], '"x" has values of different types: integer, string'),
        ([PNG], [True], '"x" has values of different types: boolean, image'),
        ([[1, 2]], [[[3]]], '"x" has lists in some rows and sequences in others'),
    ],
)
def test_columns_that_do_not_fit_are_not_joined(
    first: list[Any], second: list[Any], message: str
) -> None:
    with pytest.raises(UsageError) as error:
        concat_columns([make_column("x", first), make_column("x", second)])
    assert str(error.value) == message


@pytest.mark.parametrize("values", [["a"], [PNG], [[1, 2]]])
def test_only_single_numbers_are_an_array_of_floats(values: list[Any]) -> None:
    with pytest.raises(UsageError, match='"x" is not a column of numbers'):
        make_column("x", values).to_float64()


def test_arrays_for_models() -> None:
    table = [["a", None], [[1, 2], [3, 4]], [[1], [2, 3]], [[[1], [2]], [[3], [4]]], [1, None]]
    arrays = [make_column("x", values).to_array() for values in table]
    assert arrays[0].tolist() == ["a", None] and arrays[0].dtype == object
    assert arrays[1].tolist() == [[1, 2], [3, 4]] and arrays[1].dtype == np.int64
    assert arrays[2].tolist() == [[1], [2, 3]] and arrays[2].dtype == object
    assert arrays[3].tolist() == [[[1], [2]], [[3], [4]]]
    np.testing.assert_array_equal(arrays[4], [1.0, np.nan])
    assert make_column("x", [PNG, None]).to_array().tolist() == [PNG, None]


@pytest.mark.parametrize("kind", ["string", "image", "bytes", "float", "integer", "boolean"])
def test_a_column_of_missing_values_takes_values_of_its_type(kind: Any) -> None:
    value = {"string": "a", "image": PNG, "bytes": b"\0", "float": 1.5, "integer": 2,
             "boolean": True}[kind]  # fmt: skip
    column = make_missing_column("x", kind, 2)
    assert column.type == kind and column.select_missing().all()
    changed = column.with_values(np.array([1]), [value])
    assert [changed.get_value(row) for row in range(2)] == [None, value]
    assert changed.with_values(np.array([1]), [None]).select_missing().all()


@pytest.mark.parametrize(
    ("values", "lengths", "expected"),
    [
        (["a", "b"], [1, 0, 1], ["a", None, "b"]),
        ([PNG, PNG], [1, 0, 1], [PNG, None, PNG]),
        ([1.5, 2.5], [1, 0, 1], [1.5, None, 2.5]),
        ([True, False], [1, 0, 1], [True, None, False]),
        ([1, 2], [1, 0, 1], [1, None, 2]),
        ([1, 2], [2, 0, 0], [[1, 2], None, []]),
        ([1, 2, 3], [1, 1, 1], [1, 2, 3]),
    ],
)
def test_lists_of_one_item_are_single_values(
    values: list[Any], lengths: list[int], expected: list[Any]
) -> None:
    missing = np.array([False, expected[1] is None, False])
    column = make_list_column("x", make_column("items", values), np.array(lengths), missing)
    assert column.name == "x" and len(column) == 3
    assert [column.get_value(row) for row in range(3)] == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"BM" + b"\0" * 40, True),
        (b"BM is a text that is longer than a header", False),
        (b"RIFF\0\0\0\0WEBPVP8", True),
        (b"RIFF\0\0\0\0WAVE", False),
        (b"GIF89a", True),
        (b"", False),
    ],
)
def test_images_are_recognized_by_their_first_bytes(data: bytes, expected: bool) -> None:
    assert is_image(data) == expected


def test_table_names_the_nearest_column_and_the_valid_rows() -> None:
    table = make_table([{"age": 3, "name": "x"}, {"age": 4}])
    assert table.get_row(1) == {"age": 4, "name": None}
    with pytest.raises(UsageError, match='no column "agee"; did you mean "age"'):
        table.get_column("agee")
    with pytest.raises(UsageError, match="no row 2; rows are 0 to 1"):
        table.get_row(2)


def test_fixed_length_lists_are_a_matrix() -> None:
    table = DataTable([make_column("a", [[1, 2], [3, 4]]), make_column("b", [5.0, 6.0])])
    assert table.to_matrix().tolist() == [[1, 2, 5], [3, 4, 6]]
    assert table.to_rows() == [{"a": [1, 2], "b": 5.0}, {"a": [3, 4], "b": 6.0}]


@pytest.mark.parametrize(
    ("values", "expected", "kind"),
    [
        (["x", float("nan"), None], ["x", None, None], "string"),
        ([True, float("nan"), None], [True, None, None], "boolean"),
        ([1, float("nan"), None], [1, None, None], "integer"),
        ([1.5, float("nan"), None], [1.5, None, None], "float"),
        ([b"x", np.float32("nan")], ["x", None], "string"),
        ([[1, None], [2, 3]], [[1, None], [2, 3]], "float"),
        ([["x", float("nan")], ["y"]], [["x", None], ["y"]], "string"),
        ([[[1, None], [2]], None], [[[1, None], [2]], None], "float"),
    ],
)
def test_nan_and_none_are_missing_in_all_types(values: Any, expected: Any, kind: str) -> None:
    column = make_column("x", values)
    assert column.type == kind
    assert [column.get_value(row) for row in range(len(column))] == expected


def test_missing_values_of_pandas_types() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "flag": pandas.array([True, None, False], dtype="boolean"),
            "count": pandas.array([1, None, 3], dtype="Int64"),
            "real": pandas.array([1.5, None, 3], dtype="Float64"),
            "text": pandas.array(["a", None, "b"], dtype="string"),
        }
    )
    table = to_table(frame)
    assert [table.get_row(row) for row in range(3)] == [
        {"flag": True, "count": 1, "real": 1.5, "text": "a"},
        dict.fromkeys(frame.columns),
        {"flag": False, "count": 3, "real": 3.0, "text": "b"},
    ]


def test_memory_use_counts_numbers_texts_and_images() -> None:
    table = make_table([{"n": 1, "t": "abc", "image": PNG}, {"n": 2, "t": None, "image": None}])
    assert table.size_bytes >= 2 * 8 + 2 * 4 + 3 + len(PNG)
    assert table.get_column("n").size_bytes == 2 * 8
    lists = make_column("v", [[1.0, 2.0], None])
    assert lists.size_bytes == 2 * 8 + 3 * 8 + 2  # values, offsets and the mask
