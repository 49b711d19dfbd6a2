"""What is said of an opened embedding, of its columns and of one point."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence

import numpy as np

from tracklight.analysis.embeddings.loading import LoadedEmbedding, decode_row_bits
from tracklight.analysis.embeddings.metadata import (
    LabelColumn,
    find_color_column,
    find_label_column,
    find_sequence_column,
)
from tracklight.analysis.embeddings.projections.neighbors import query_nearest
from tracklight.analysis.embeddings.sprites import plan_tiles
from tracklight.dashboards.projector.jobs import ProjectorJobs
from tracklight.dashboards.projector.library import EmbeddingRef
from tracklight.dashboards.projector.schemas import (
    ColumnInfo,
    ColumnResponse,
    EmbeddingFileRequest,
    EmbeddingInfo,
    LabelCell,
    LabelCount,
    NeighborsRequest,
    NeighborsResponse,
    PointResponse,
)
from tracklight.errors import UsageError
from tracklight.plugin import Stream
from tracklight.types import Bool, Float32, Float64

_MAX_VALUES = 200

#: Vectors of that many numbers and more are mostly those of words or of layers, whose lengths say
#: little.
_MANY_DIMENSIONS = 50


def make_embedding_info(ref: EmbeddingRef, embedding: LoadedEmbedding) -> EmbeddingInfo:
    rows, dimensions = embedding.vectors.values.shape
    usable = embedding.vectors.usable
    return EmbeddingInfo(
        id=ref.id,
        index=ref.index,
        step=ref.step,
        mark=ref.mark,
        rows=rows,
        dimensions=dimensions,
        revision=embedding.revision,
        problems=list(embedding.problems),
        usable=None if usable.all() else usable,
        columns=[_make_column_info(column) for column in embedding.columns],
        label=find_label_column(embedding.columns),
        colour=find_color_column(embedding.columns),
        sequence=find_sequence_column(embedding.columns),
        sprite=plan_tiles(embedding.sprite, rows) if embedding.sprite else None,
        spherize=dimensions >= _MANY_DIMENSIONS,
    )


def _make_column_info(column: LabelColumn) -> ColumnInfo:
    numbers = column.numbers
    finite = numbers[np.isfinite(numbers)] if numbers is not None else np.empty(0)
    return ColumnInfo(
        name=column.name,
        kind="text" if numbers is None else "number",
        distinct=column.distinct_count - (column.missing_count > 0),
        missing=column.missing_count,
        min=float(finite.min()) if len(finite) else None,
        max=float(finite.max()) if len(finite) else None,
        values=[] if column.codes is None else _list_values(column),
    )


def _list_values(column: LabelColumn) -> list[LabelCount]:
    """The most frequent first; of equally frequent ones the one that came first."""
    counts = column.count_values()
    order = np.argsort(-counts, kind="stable")[:_MAX_VALUES]
    return [LabelCount(column.values[place], int(counts[place])) for place in order]


def make_column_response(column: LabelColumn) -> ColumnResponse:
    """A column as it is sent: all values as one text."""
    encoded = [value.encode() for value in column.values]
    ends = np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)))
    if len(ends) and ends[-1] > np.iinfo(np.int32).max:
        raise UsageError(f'the labels "{column.name}" are too long to be shown')
    numbers = column.numbers
    return ColumnResponse(
        name=column.name,
        kind="text" if numbers is None else "number",
        numbers=numbers,
        codes=column.codes,
        text=np.frombuffer(b"".join(encoded), np.uint8),
        ends=ends.astype(np.int32),
    )


def make_point_response(embedding: LoadedEmbedding, row: int) -> PointResponse:
    if row >= embedding.row_count:
        raise UsageError(f"there is no point {row} among {embedding.row_count}")
    vector = embedding.vectors.values[row]
    cells = [LabelCell(column.name, column.get_text(row)) for column in embedding.columns]
    length = float(np.sqrt(np.vdot(vector, vector)))
    return PointResponse(row, cells, vector, length)


# The neighbours of a point among vectors as they are, and not as a layout shows them.


def make_neighbors_response(embedding: LoadedEmbedding, ask: NeighborsRequest) -> NeighborsResponse:
    """The nearest of one row, or of the mean of some, none of which are among them."""
    asked = _select_query_rows(embedding, ask)
    vectors = embedding.get_vectors(None, ask.spherize)
    query: Float64 = vectors[asked].mean(axis=0, dtype=np.float64)
    among = embedding.vectors.usable & ~asked
    if ask.within is not None:
        among = among & decode_row_bits(ask.within, embedding.row_count)
    rows = np.flatnonzero(among).astype(np.int32)
    nearest, distances = query_nearest(vectors, query, ask.count, ask.metric, rows)
    return NeighborsResponse(nearest, distances, exact=True)


def _select_query_rows(opened: LoadedEmbedding, ask: NeighborsRequest) -> Bool:
    asked = np.zeros(opened.row_count, np.bool_)
    if ask.rows is not None:
        asked = decode_row_bits(ask.rows, opened.row_count)
    elif ask.row is not None and ask.row < opened.row_count:
        asked[ask.row] = True
    asked &= opened.vectors.usable
    if not asked.any():
        raise UsageError("no point was chosen whose neighbours could be told")
    return asked


# What can be taken away: labels, vectors and layouts.

_ROWS_AT_ONCE = 5000

_AXES = "xyz"

_TSV = "text/tab-separated-values; charset=utf-8"


def make_file_stream(
    embedding: LoadedEmbedding, jobs: ProjectorJobs, ask: EmbeddingFileRequest, name: str
) -> Stream:
    """A file of what is asked for; ``name`` is what the embedding is called."""
    stem = f"{name}-{ask.what}".replace("/", "-")
    if ask.what == "labels":
        return _make_labels_stream(embedding, stem)
    if ask.what == "vectors":
        return _make_matrix_stream(embedding.vectors.values, ask, stem)
    if ask.job is None:
        raise UsageError("it is not said which layout is wanted; give its job")
    layout, plan = jobs.get_layout(ask.job)
    if ask.format == "npy":
        return _make_matrix_stream(layout, ask, stem)
    rows = range(embedding.row_count) if plan.rows is None else plan.rows.tolist()
    return Stream(_iter_layout(embedding, layout, rows), _TSV, f"{stem}.tsv")


def _make_labels_stream(opened: LoadedEmbedding, stem: str) -> Stream:
    columns = [column.get_texts() for column in opened.columns]
    names = [column.name for column in opened.columns]
    if not names:
        raise UsageError("these points have no labels")
    # A single column has no name above it: readers take a first line without a tab for a label.
    header = ["\t".join(map(_clean, names))] if len(names) > 1 else []
    cells = ("\t".join(map(_clean, row)) for row in zip(*columns, strict=True))
    return Stream(_iter_lines(header, cells), _TSV, f"{stem}.tsv")


def _make_matrix_stream(table: Float32, ask: EmbeddingFileRequest, stem: str) -> Stream:
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


def _iter_layout(opened: LoadedEmbedding, layout: Float32, rows: Sequence[int]) -> Iterator[bytes]:
    count = layout.shape[1]
    axes = _AXES[:count] if count <= len(_AXES) else map(str, range(1, count + 1))
    header = ["\t".join(["row", *axes, *(_clean(column.name) for column in opened.columns)])]
    lines = (
        "\t".join([str(row), *place, *_list_cells(opened, row)])
        for row, place in zip(rows, _iter_rows(layout), strict=True)
    )
    return _iter_lines(header, lines)


def _list_cells(opened: LoadedEmbedding, row: int) -> list[str]:
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
