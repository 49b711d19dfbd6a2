from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracklight.analysis.embeddings import metadata
from tracklight.analysis.embeddings.metadata import Metadata, parse_numbers, read_metadata
from tracklight.errors import FormatError


def read(text: str, count: int) -> Metadata:
    return read_metadata(io.BytesIO(text.encode()), count)


def test_single_column_has_no_header_and_several_have_one() -> None:
    assert read("a\nb\n", 2) == Metadata({"label": ["a", "b"]})
    assert read("word\tn\n a\t1\n\nb\t\n", 2) == Metadata({"word": [" a", "b"], "n": ["1", ""]})


def test_number_of_lines_decides_whether_there_is_a_header() -> None:
    assert read("word\na\nb\n", 2) == Metadata({"word": ["a", "b"]})
    assert read("a\t1\nb\t2\n", 2) == Metadata({"column 1": ["a", "b"], "column 2": ["1", "2"]})


def test_duplicate_and_missing_names_are_made_unique() -> None:
    assert list(read("a\ta\t\n1\t2\t3\n", 1).columns) == ["a", "a 2", "column 3"]


@pytest.mark.parametrize(
    ("text", "count", "columns", "message"),
    [
        ("a\n", 3, {"label": ["a", "", ""]}, "1 rows of labels for 3 vectors; the last vectors"),
        ("a\nb\nc\nd\n", 2, {"label": ["a", "b"]}, "4 rows of labels for 2 vectors; the last rows"),
        (
            "n\tm\n1\n2\t3\t4\n",
            2,
            {"n": ["1", "2"], "m": ["", "3"]},
            "2 rows of labels do not have",
        ),
        ("", 2, {}, "is empty"),
    ],
)
def test_reports_problems(
    text: str, count: int, columns: dict[str, list[str]], message: str
) -> None:
    found = read(text, count)
    assert found.columns == columns
    assert message in str(found.problems[0])


def test_rejects_files_that_are_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "_MAX_METADATA_BYTES", 3)
    with pytest.raises(FormatError, match="are not read"):
        read("abcd", 1)


def test_parses_numbers() -> None:
    assert parse_numbers(["1", "-2.5e3"]) == [1.0, -2500.0]
    numbers = parse_numbers(["1", ""])
    assert numbers is not None and numbers[1] != numbers[1]
    assert parse_numbers(["1", "a"]) is None
    assert parse_numbers(["", ""]) is None


@given(st.binary(max_size=80), st.integers(1, 9))
def test_any_bytes_give_one_label_per_point(data: bytes, count: int) -> None:
    found = read_metadata(io.BytesIO(data), count)
    assert all(len(cells) == count for cells in found.columns.values())


@pytest.mark.parametrize(
    "text",
    [
        "a\tb\n1\t2\n3\t4\n",
        "a\tb\r\n1\t2\r\n3\t4\r\n",
        "a\tb\r1\t2\r3\t4",
        "\ufeffa\tb\n\n1\t2\n3\t4",
        "a\tb\n1\t2\n \n3\t4\n\n",
    ],
)
def test_line_endings_and_blank_lines(text: str) -> None:
    metadata = read_metadata(io.BytesIO(text.encode()), 2)
    assert (metadata.columns, metadata.problems) == ({"a": ["1", "3"], "b": ["2", "4"]}, ())


def test_other_unicode_line_separators_do_not_end_a_line() -> None:
    text = "one\u2028two\nthree\x0cfour\nfünf\x85\n"
    metadata = read_metadata(io.BytesIO(text.encode()), 3)
    assert metadata.columns["label"] == ["one\u2028two", "three\x0cfour", "fünf\x85"]
