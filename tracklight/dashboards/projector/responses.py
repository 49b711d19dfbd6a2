"""Build responses and files from a loaded embedding: info, columns, points, neighbors, exports."""

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
from tracklight.analysis.embeddings.sprites import SpriteTiles, plan_tiles
from tracklight.analysis.source import Sentence
from tracklight.dashboards.projector.jobs import ProjectorJobs
from tracklight.dashboards.projector.library import EmbeddingRef
from tracklight.dashboards.projector.schemas import (
    ColumnFilters,
    ColumnHistogramsRequest,
    ColumnHistogramsResponse,
    ColumnInfo,
    ColumnResponse,
    EmbeddingFileRequest,
    EmbeddingInfo,
    LabelCell,
    LabelCount,
    NeighborsRequest,
    NeighborsResponse,
    PointResponse,
    PointRowsRequest,
    PointRowsResponse,
    SimilarRequest,
    SimilarResponse,
)
from tracklight.errors import UsageError
from tracklight.plugin import Stream
from tracklight.types import Bool, Float32, Float64, Int32

_MAX_VALUES = 200
#: Vectors with more dimensions are mostly embeddings of words or activations, whose lengths mean
#: little; spherizing them is suggested.
_MIN_SPHERIZE_DIMENSIONS = 50

_BLOCK_ROWS = 5000
_AXIS_NAMES = "xyz"
_TSV = "text/tab-separated-values; charset=utf-8"


def make_embedding_info(ref: EmbeddingRef, embedding: LoadedEmbedding) -> EmbeddingInfo:
    """Return the size, columns and problems of an embedding, and suggested settings."""
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
        problems=[Sentence.make(problem) for problem in embedding.problems],
        usable=None if usable.all() else usable,
        columns=[_make_column_info(column) for column in embedding.columns],
        label_column=find_label_column(embedding.columns),
        color_column=find_color_column(embedding.columns),
        sequence_column=find_sequence_column(embedding.columns),
        sprite=_plan_sprite(embedding, rows),
        spherize=dimensions >= _MIN_SPHERIZE_DIMENSIONS,
    )


def _plan_sprite(embedding: LoadedEmbedding, rows: int) -> SpriteTiles | None:
    sprite = embedding.sprite
    return plan_tiles(sprite.cell_width, sprite.cell_height, rows) if sprite else None


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
        values=[] if column.codes is None else list_frequent_values(column),
    )


def list_frequent_values(column: LabelColumn) -> list[LabelCount]:
    """Return the most frequent values; equally frequent ones in the order of the rows."""
    counts = column.count_values()
    order = np.argsort(-counts, kind="stable")[:_MAX_VALUES]
    return [LabelCount(column.values[index], int(counts[index])) for index in order]


def make_column_response(column: LabelColumn) -> ColumnResponse:
    """Return a column with all values joined to one text.

    Raises:
        UsageError: The text is longer than 2 GiB.
    """
    encoded = [value.encode() for value in column.values]
    ends = np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)))
    if len(ends) and ends[-1] > np.iinfo(np.int32).max:
        raise UsageError(
            "projector.labels_too_long",
            'the labels of the column "{name}" are too long to be shown',
            name=column.name,
        )
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
    """Return the labels and the vector of a point.

    Raises:
        UsageError: There is no such point.
    """
    if row >= embedding.row_count:
        raise UsageError(
            "projector.no_point",
            "there is no point {row}; there are {row_count} points",
            row=row,
            row_count=embedding.row_count,
        )
    vector = embedding.vectors.values[row]
    cells = [LabelCell(column.name, column.get_text(row)) for column in embedding.columns]
    length = float(np.sqrt(np.vdot(vector, vector)))
    return PointResponse(row, cells, vector, length)


def make_neighbors_response(
    embedding: LoadedEmbedding, request: NeighborsRequest
) -> NeighborsResponse:
    """Return the nearest points of a row, or of the mean of some rows, without these rows.

    Neighbors are those of the original vectors, not of a layout.

    Raises:
        UsageError: No point with a finite vector is selected.
    """
    query_rows = _select_query_rows(embedding, request)
    vectors = embedding.get_vectors(None, request.spherize)
    query: Float64 = vectors[query_rows].mean(axis=0, dtype=np.float64)
    candidates = embedding.vectors.usable & ~query_rows
    if request.within is not None:
        candidates = candidates & decode_row_bits(request.within, embedding.row_count)
    rows = np.flatnonzero(candidates).astype(np.int32)
    nearest, distances = query_nearest(vectors, query, request.count, request.metric, rows)
    return NeighborsResponse(nearest, distances, exact=True)


def _select_query_rows(embedding: LoadedEmbedding, request: NeighborsRequest) -> Bool:
    rows = np.zeros(embedding.row_count, np.bool_)
    if request.rows is not None:
        rows = decode_row_bits(request.rows, embedding.row_count)
    elif request.row is not None and request.row < embedding.row_count:
        rows[request.row] = True
    rows &= embedding.vectors.usable
    if not rows.any():
        raise UsageError(
            "projector.no_selection", "no point is selected whose neighbors could be found"
        )
    return rows


_MAX_SOURCE_LABELS = 5


def make_similar_response(
    embedding: LoadedEmbedding, source: LoadedEmbedding, source_rows: Int32, request: SimilarRequest
) -> SimilarResponse:
    """Return the points that are nearest to the mean of some points of another embedding.

    Raises:
        UsageError: No point of the source has a vector, or the dimensions differ.
    """
    source_rows = source_rows[source.vectors.usable[source_rows]]
    if not len(source_rows):
        raise UsageError(
            "projector.no_similar_source",
            'no point of the source has the label "{text}"; try another text or source',
            text=request.text,
        )
    query: Float64 = source.vectors.values[source_rows].mean(axis=0, dtype=np.float64)
    candidates = embedding.vectors.usable.copy()
    if request.within is not None:
        candidates &= decode_row_bits(request.within, embedding.row_count)
    if source is embedding and len(source_rows) < np.count_nonzero(candidates):
        candidates[source_rows] = False
    rows = np.flatnonzero(candidates).astype(np.int32)
    vectors = embedding.vectors.values
    nearest, distances = query_nearest(vectors, query, request.count, request.metric, rows)
    column = find_label_column(source.columns)
    listed = source_rows[:_MAX_SOURCE_LABELS].tolist()
    labels = [] if column is None else [source.get_column(column).get_text(row) for row in listed]
    return SimilarResponse(nearest, distances, listed, labels, len(source_rows))


def make_rows_response(embedding: LoadedEmbedding, request: PointRowsRequest) -> PointRowsResponse:
    """Return the labels of some points in the requested order.

    Raises:
        UsageError: There is no such column.
    """
    columns = [embedding.get_column(name) for name in request.columns]
    if request.sort is None:
        order = np.arange(embedding.row_count, dtype=np.int32)
        order = order[::-1] if request.descending else order
    else:
        order = embedding.get_column(request.sort).sort_rows(request.descending)
    if request.within is not None:
        order = order[decode_row_bits(request.within, embedding.row_count)[order]]
    passing = filter_rows(embedding, request.filters)
    if passing is not None:
        order = order[passing[order]]
    rows = order[request.offset : request.offset + request.limit]
    cells = [[column.get_text(row) for row in rows.tolist()] for column in columns]
    return PointRowsResponse(len(order), rows, cells)


def filter_rows(
    embedding: LoadedEmbedding, filters: ColumnFilters, without: str | None = None
) -> Bool | None:
    """Return the points that pass all filters, but for that of one column; None for all points.

    Filters of columns that the embedding does not have are ignored, as in the page.
    """
    mask: Bool | None = None
    known = {column.name for column in embedding.columns}
    for name, column_filter in filters.items():
        if name == without or name not in known:
            continue
        column = embedding.get_column(name)
        if column_filter.range is not None:
            passing = column.match_range(*column_filter.range)
        else:
            passing = column.match_values(column_filter.values or ())
        mask = passing if mask is None else mask & passing
    return mask


def make_histograms_response(
    embedding: LoadedEmbedding, request: ColumnHistogramsRequest
) -> ColumnHistogramsResponse:
    """Return histograms of columns, each of the points that pass the filters of all others.

    Raises:
        UsageError: There is no such column.
    """
    passing = filter_rows(embedding, request.filters)

    def select_rows(name: str) -> Bool | None:
        return filter_rows(embedding, request.filters, name) if name in request.filters else passing

    counts: dict[str, list[int]] = {}
    for name in request.ranges:
        counts[name] = _count_bins(embedding.get_column(name), select_rows(name), request.bins)
    for name in request.values:
        counts[name] = _count_frequent_values(embedding.get_column(name), select_rows(name))
    total = embedding.row_count if passing is None else int(np.count_nonzero(passing))
    return ColumnHistogramsResponse(total, counts)


def _count_bins(column: LabelColumn, mask: Bool | None, bins: int) -> list[int]:
    if column.numbers is None:
        return [0] * bins
    finite = np.isfinite(column.numbers)
    if not finite.any():
        return [0] * bins
    numbers = column.numbers[finite]
    low, high = float(numbers.min()), float(numbers.max())
    if mask is not None:
        numbers = column.numbers[finite & mask]
    scale = bins / (high - low or 1.0)
    at = np.clip(((numbers - low) * scale).astype(np.int64), 0, bins - 1)
    return [int(count) for count in np.bincount(at, minlength=bins)]


def _count_frequent_values(column: LabelColumn, mask: Bool | None) -> list[int]:
    if column.codes is None:
        return []
    frequent = list_frequent_values(column)
    if mask is None:
        return [value.count for value in frequent]
    counts = np.bincount(column.codes[mask], minlength=len(column.values))
    code_of = {value: code for code, value in enumerate(column.values)}
    return [int(counts[code_of[value.text]]) for value in frequent]


# ---- Files


def make_file_stream(
    embedding: LoadedEmbedding, jobs: ProjectorJobs, request: EmbeddingFileRequest, name: str
) -> Stream:
    """Return labels, vectors or a layout as a file.

    Args:
        embedding: The embedding.
        jobs: Has the layout.
        request: What to return, and in which format.
        name: The name of the embedding, for the file name.

    Raises:
        UsageError: There are no labels, or no job is given for a layout.
    """
    stem = f"{name}-{request.content}".replace("/", "-")
    if request.content == "labels":
        return _make_labels_stream(embedding, stem)
    if request.content == "vectors":
        return _make_matrix_stream(embedding.vectors.values, request, stem)
    if request.job is None:
        raise UsageError(
            "projector.layout_job_missing", "the job of the layout is missing in the request"
        )
    layout, context = jobs.get_layout(request.job)
    if request.format == "npy":
        return _make_matrix_stream(layout, request, stem)
    rows = range(embedding.row_count) if context.rows is None else context.rows.tolist()
    return Stream(_iter_layout(embedding, layout, rows), _TSV, f"{stem}.tsv")


def _make_labels_stream(embedding: LoadedEmbedding, stem: str) -> Stream:
    columns = [column.get_texts() for column in embedding.columns]
    names = [column.name for column in embedding.columns]
    if not names:
        raise UsageError("projector.no_labels", "these points have no labels")
    # A single column has no header: readers take a first line without a tab for a label.
    header = ["\t".join(map(_escape_cell, names))] if len(names) > 1 else []
    lines = ("\t".join(map(_escape_cell, row)) for row in zip(*columns, strict=True))
    return Stream(_iter_lines(header, lines), _TSV, f"{stem}.tsv")


def _make_matrix_stream(matrix: Float32, request: EmbeddingFileRequest, stem: str) -> Stream:
    if request.format == "npy":
        return Stream(_iter_npy(matrix), "application/octet-stream", f"{stem}.npy")
    lines = ("\t".join(row) for row in _iter_formatted_rows(matrix))
    return Stream(_iter_lines([], lines), _TSV, f"{stem}.tsv")


def _iter_npy(matrix: Float32) -> Iterator[bytes]:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f4", "fortran_order": False, "shape": matrix.shape}
    )
    yield header.getvalue()
    for start in range(0, len(matrix), _BLOCK_ROWS):
        yield matrix[start : start + _BLOCK_ROWS].astype("<f4").tobytes()


def _iter_layout(
    embedding: LoadedEmbedding, layout: Float32, rows: Sequence[int]
) -> Iterator[bytes]:
    count = layout.shape[1]
    axes = _AXIS_NAMES[:count] if count <= len(_AXIS_NAMES) else map(str, range(1, count + 1))
    names = (_escape_cell(column.name) for column in embedding.columns)
    header = ["\t".join(["row", *axes, *names])]
    lines = (
        "\t".join([str(row), *coordinates, *_list_cells(embedding, row)])
        for row, coordinates in zip(rows, _iter_formatted_rows(layout), strict=True)
    )
    return _iter_lines(header, lines)


def _list_cells(embedding: LoadedEmbedding, row: int) -> list[str]:
    return [_escape_cell(column.get_text(row)) for column in embedding.columns]


def _iter_formatted_rows(matrix: Float32) -> Iterator[list[str]]:
    """Yield rows of numbers, with as many digits as float32 needs to round-trip."""
    for start in range(0, len(matrix), _BLOCK_ROWS):
        yield from matrix[start : start + _BLOCK_ROWS].astype(str).tolist()


def _iter_lines(header: Sequence[str], lines: Iterator[str]) -> Iterator[bytes]:
    """Yield blocks of encoded lines."""
    block = list(header)
    for line in lines:
        block.append(line)
        if len(block) >= _BLOCK_ROWS:
            yield ("\n".join(block) + "\n").encode()
            block = []
    if block:
        yield ("\n".join(block) + "\n").encode()


def _escape_cell(text: str) -> str:
    return text.replace("\t", " ").replace("\n", " ").replace("\r", " ")
