from __future__ import annotations

import csv
import io
import json
import math

import pytest

from tracklight.util.frames import ExportTable, write_table

TABLE = ExportTable(
    ["name", "l_r", "a|b"],
    [
        ["a/b", 0.001, True],
        ["=x", math.nan, None],
        ["c&d\ne", 1.5e-7, "50 %_{}"],
        ["d", 16.0, -math.inf],
    ],
)


def write(file_format: str) -> str:
    return write_table(TABLE, file_format, "hparams").content.decode()  # type: ignore[arg-type]


def test_writes_csv() -> None:
    rows = list(csv.reader(io.StringIO(write("csv"))))
    assert rows == [
        ["name", "l_r", "a|b"],
        ["a/b", "0.001", "true"],
        ["'=x", "nan", ""],
        ["c&d\ne", "1.5e-07", "50 %_{}"],
        ["d", "16", "-inf"],
    ]


def test_writes_json() -> None:
    found = json.loads(write("json"))
    assert found["header"] == TABLE.headings
    assert found["rows"][:2] == [["a/b", 0.001, True], ["=x", "NaN", None]]
    assert found["rows"][3] == ["d", 16.0, "-Infinity"]


def test_writes_markdown() -> None:
    lines = write("markdown").splitlines()
    assert lines[0] == r"| name | l\_r | a\|b |"
    assert lines[1] == "| --- | --- | --- |"
    assert lines[4] == r"| c&d e | 1.5e-07 | 50 %\_{} |"


def test_writes_latex() -> None:
    lines = write("latex").splitlines()
    assert lines[1] == r"\begin{tabular}{lll}"
    assert lines[2] == r"name & l\_r & a|b \\ \hline"
    assert lines[3] == r"a/b & $0.001$ & true \\"
    assert lines[4] == r"=x & $\mathrm{NaN}$ & - \\"
    assert lines[5] == r"c\&d e & $1.5\cdot 10^{-7}$ & 50 \%\_\{\} \\"
    assert lines[6] == r"d & $16$ & $-\infty$ \\"
    assert lines[-1] == r"\end{table}"


@pytest.mark.parametrize(
    ("file_format", "extension"),
    [("csv", "csv"), ("json", "json"), ("latex", "tex"), ("markdown", "md")],
)
def test_file_name_has_the_extension_of_the_format(file_format: str, extension: str) -> None:
    assert write_table(TABLE, file_format, "hparams").filename == f"hparams.{extension}"  # type: ignore[arg-type]
