"""What can be taken away: labels, vectors and layouts."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence

import numpy as np

from tracklight.dashboards.projector.asks import FileAsk
from tracklight.dashboards.projector.desk import Desk
from tracklight.dashboards.projector.opened import Opened
from tracklight.errors import UsageError
from tracklight.plugin import Stream
from tracklight.types import Float32

_ROWS_AT_ONCE = 5000
_AXES = "xyz"
_TSV = "text/tab-separated-values; charset=utf-8"


def make_file(opened: Opened, desk: Desk, ask: FileAsk, name: str) -> Stream:
    """A file of what is asked for; ``name`` is what the embedding is called."""
    stem = f"{name}-{ask.what}".replace("/", "-")
    if ask.what == "labels":
        return _make_labels(opened, stem)
    if ask.what == "vectors":
        return _make_table(opened.vectors.values, ask, stem)
    if ask.job is None:
        raise UsageError("it is not said which layout is wanted; give its job")
    layout, plan = desk.get_layout(ask.job)
    if ask.format == "npy":
        return _make_table(layout, ask, stem)
    rows = range(opened.rows) if plan.rows is None else plan.rows.tolist()
    return Stream(_iter_layout(opened, layout, rows), _TSV, f"{stem}.tsv")


def _make_labels(opened: Opened, stem: str) -> Stream:
    columns = [column.iter_texts() for column in opened.columns]
    names = [column.name for column in opened.columns]
    if not names:
        raise UsageError("these points have no labels")
    # A single column has no name above it: readers take a first line without a tab for a label.
    header = ["\t".join(map(_clean, names))] if len(names) > 1 else []
    cells = ("\t".join(map(_clean, row)) for row in zip(*columns, strict=True))
    return Stream(_iter_lines(header, cells), _TSV, f"{stem}.tsv")


def _make_table(table: Float32, ask: FileAsk, stem: str) -> Stream:
    if ask.format == "npy":
        return Stream(_iter_npy(table), "application/octet-stream", f"{stem}.npy")
    lines = ("\t".join(row) for row in _iter_rows(table))
    return Stream(_iter_lines([], lines), _TSV, f"{stem}.tsv")


def _iter_npy(table: Float32) -> Iterator[bytes]:
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        head, {"descr": "<f4", "fortran_order": False, "shape": table.shape}
    )
    yield head.getvalue()
    for start in range(0, len(table), _ROWS_AT_ONCE):
        yield table[start : start + _ROWS_AT_ONCE].astype("<f4").tobytes()


def _iter_layout(opened: Opened, layout: Float32, rows: Sequence[int]) -> Iterator[bytes]:
    count = layout.shape[1]
    axes = _AXES[:count] if count <= len(_AXES) else map(str, range(1, count + 1))
    header = ["\t".join(["row", *axes, *(_clean(column.name) for column in opened.columns)])]
    lines = (
        "\t".join([str(row), *place, *_list_cells(opened, row)])
        for row, place in zip(rows, _iter_rows(layout), strict=True)
    )
    return _iter_lines(header, lines)


def _list_cells(opened: Opened, row: int) -> list[str]:
    return [_clean(column.get_text(row)) for column in opened.columns]


def _iter_rows(table: Float32) -> Iterator[list[str]]:
    """Numbers with as many digits as tell them from all others of float32."""
    for start in range(0, len(table), _ROWS_AT_ONCE):
        yield from table[start : start + _ROWS_AT_ONCE].astype(str).tolist()


def _iter_lines(header: Sequence[str], lines: Iterator[str]) -> Iterator[bytes]:
    some = list(header)
    for line in lines:
        some.append(line)
        if len(some) >= _ROWS_AT_ONCE:
            yield ("\n".join(some) + "\n").encode()
            some = []
    if some:
        yield ("\n".join(some) + "\n").encode()


def _clean(text: str) -> str:
    return text.replace("\t", " ").replace("\n", " ").replace("\r", " ")
