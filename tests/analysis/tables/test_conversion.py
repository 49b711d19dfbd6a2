"""Types of columns that a user chooses instead of the inferred ones."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from tests.dashboards.what_if.board import start_board
from tracklight.analysis.source import DataAccess
from tracklight.analysis.tables import DataTable, convert_column
from tracklight.analysis.tables.columns import make_column
from tracklight.analysis.tables.files import ReadLimits, read_files
from tracklight.analysis.tables.objects import to_table
from tracklight.errors import UsageError
from tracklight.formats.media import encode_png
from tracklight.what_if import Session, read_table

CSV = b"zip,tags,flag,n,vector\n00123,red|green,1,1,1|2\n,blue,0,2.5,3\n04567,,,3,4|5|6\n"


def read(types: dict[str, str] | None = None) -> DataTable:
    return read_files(["a.csv"], lambda path: io.BytesIO(CSV), ReadLimits(), types)


def list_values(table: DataTable, name: str) -> list[Any]:
    column = table.get_column(name)
    return [column.get_value(row) for row in range(len(column))]


def test_inferred_types_can_be_overridden() -> None:
    plain = read()
    assert list_values(plain, "zip") == [123, None, 4567]
    assert list_values(plain, "tags") == ["red|green", "blue", None]
    types = {"zip": "string", "tags": "string[]", "flag": "boolean", "n": "string"}
    table = read(types)
    assert list_values(table, "zip") == ["00123", None, "04567"]
    assert list_values(table, "tags") == [["red", "green"], ["blue"], None]
    assert list_values(table, "flag") == [True, False, None]
    assert list_values(table, "n") == ["1", "2.5", "3"]
    assert list_values(table, "vector") == [[1, 2], [3], [4, 5, 6]]
    assert table.names == plain.names


def test_texts_that_look_like_lists_are_named() -> None:
    data = b"tags\nred|green\nblue|red\nblue\n"
    table = read_files(["a.csv"], lambda path: io.BytesIO(data))
    assert table.problems == (
        '"tags" has texts with "|"; give it the type "string[]" to read lists',
    )
    chosen = read_files(["a.csv"], lambda path: io.BytesIO(data), types={"tags": "string[]"})
    assert chosen.problems == () and chosen.get_column("tags").is_list


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([1, None, 3], "string", ["1", None, "3"]),
        ([1.5, None], "string", ["1.5", None]),
        ([True, None], "string", ["True", None]),
        ([True, False, None], "integer", [1, 0, None]),
        ([2.0, None], "integer", [2, None]),
        ([2, None], "float", [2.0, None]),
        ([0, 1.0, None], "boolean", [False, True, None]),
        (["1", " 2 ", None], "integer", [1, 2, None]),
        (["1.5", "-inf", None], "float", [1.5, -np.inf, None]),
        (["true", "0", None], "boolean", [True, False, None]),
        (["a", None], "bytes", ["a", None]),
        ([[1, 2], [3], None], "string", [["1", "2"], ["3"], None]),
        ([["1", None], ["3"]], "integer", [[1, None], [3]]),
        ([[[1], [2, 3]], None], "float", [[[1.0], [2.0, 3.0]], None]),
        (["1|2", "3", None], "integer[]", [[1, 2], [3], None]),
        (["a", "b", None], "string[]", [["a"], ["b"], None]),
    ],
)
def test_values_are_converted(values: Any, kind: str, expected: Any) -> None:
    column = convert_column(make_column("x", values), kind)
    assert [column.get_value(row) for row in range(len(column))] == expected
    assert len(column) == len(values)


def test_bytes_and_images() -> None:
    image = encode_png(np.zeros((2, 2, 3), np.uint8))
    column = make_column("x", [image, None])
    assert column.type == "image" and convert_column(column, "bytes").type == "bytes"
    assert convert_column(convert_column(column, "bytes"), "image").get_value(0) == image
    with pytest.raises(UsageError, match='"x" cannot have the type string'):
        convert_column(column, "string")


@pytest.mark.parametrize(
    ("values", "kind", "message"),
    [
        (["1", "old"], "integer", '"x" cannot have the type integer, because of the value "old"'),
        ([1.5], "integer", '"x" cannot have the type integer, because of the value 1.5'),
        ([1, 2], "boolean", '"x" cannot have the type boolean, because of the value 2'),
        ([np.inf], "integer", "because of the value inf"),
        ([1], "image", '"x" cannot have the type image'),
        (["a"], "image", "because of the value 1 bytes"),
        ([1], "number", '"number" is not a type; use one of integer, float'),
        ([1], "string[]", '"x" cannot have the type list of texts'),
    ],
)
def test_impossible_types_are_one_sentence(values: Any, kind: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        convert_column(make_column("x", values), kind)
    assert message in str(error.value)


def test_sessions_and_files_take_types(tmp_path: Path) -> None:
    frame = pandas.DataFrame({"zip": [1, 2, 1], "y": [0, 1, 1]})
    seen: list[Any] = []

    def predict(table: pandas.DataFrame) -> Any:
        seen.append(table["zip"].tolist())
        return [0.5] * len(table)

    session = Session(frame, predict, "y", types={"zip": "string"})
    session.predictions()
    assert seen == [["1", "2", "1"]]
    assert len(session.partial_dependence("zip")) == 2 * 2 - 2
    with pytest.raises(UsageError, match='did you mean "zip"'):
        Session(frame, predict, types={"zpi": "string"})
    path = tmp_path / "a.csv"
    path.write_bytes(CSV)
    assert read_table(path, types={"zip": "string"}).get_column("zip").type == "string"
    with start_board(tmp_path, DataAccess()) as board:
        info = board.post("open", path=str(path), types={"zip": "string", "tags": "string[]"})
        columns = {each["name"]: each for each in info["columns"]}
        assert columns["zip"]["type"] == "string" and columns["tags"]["is_list"]
        failed = board.fail("open", path=str(path), types={"tags": "float"})
    assert failed == '"tags" cannot have the type float, because of the value "red|green".'


def test_lists_of_different_lengths_say_why_they_are_not_varied() -> None:
    data = {"x": [[1, 2], [3]], "words": [["a", "b"], ["c", "b"]]}
    session = Session(data, lambda rows: [0.5] * len(rows["x"]), "x", features=["x", "words"])
    with pytest.raises(UsageError, match='"x" has lists of different lengths, whose items cannot'):
        session.partial_dependence("x[0]")
    assert session.partial_dependence("words[0]")["value"].tolist() == ["a", "c"] * 2


def test_complex_numbers_keep_their_imaginary_part() -> None:
    values = np.array([1 + 2j, 3, complex("nan")])
    column = to_table(pandas.DataFrame({"z": values})).get_column("z")
    assert column.type == "string"
    assert [column.get_value(row) for row in range(3)] == ["(1+2j)", "(3+0j)", None]
