"""Build the responses of the Projector: columns, points, neighbors, files, and density tiles.

All work on a loaded embedding; `LayoutDensity` serves layouts of very many points as tiles, with
hit tests and names of regions.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from tracklight.analysis.embeddings import LoadedEmbedding, decode_row_bits
from tracklight.analysis.embeddings.density import (
    MAX_ZOOM,
    NO_COLOR,
    DensityIndex,
    UInt8,
    compute_regions,
)
from tracklight.analysis.embeddings.metadata import (
    LabelColumn,
    find_color_column,
    find_label_column,
    find_sequence_column,
    name_clusters,
)
from tracklight.analysis.embeddings.projections import query_nearest
from tracklight.analysis.embeddings.sprites import SpriteTiles, plan_tiles
from tracklight.analysis.source import Sentence
from tracklight.dashboards.projector.layouts import JobContext, ProjectorJobs
from tracklight.dashboards.projector.library import EmbeddingLibrary, EmbeddingRef
from tracklight.dashboards.projector.schemas import (
    ColumnFilters,
    ColumnHistogramsRequest,
    ColumnHistogramsResponse,
    ColumnInfo,
    ColumnResponse,
    DensityResponse,
    EmbeddingFileRequest,
    EmbeddingInfo,
    LabelCell,
    LabelCount,
    LayoutPlaneRequest,
    NearestRequest,
    NearestResponse,
    NeighborsRequest,
    NeighborsResponse,
    OutlineRequest,
    PointResponse,
    PointRowsRequest,
    PointRowsResponse,
    PositionsRequest,
    PositionsResponse,
    RegionInfo,
    RegionsRequest,
    RegionsResponse,
    SearchResponse,
    SimilarRequest,
    SimilarResponse,
    TileRequest,
    TileResponse,
)
from tracklight.errors import UsageError
from tracklight.plugin import Stream
from tracklight.types import Bool, Float32, Float64, Int32
from tracklight.util.memory import LruCache

# ---- columns, points and neighbors

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
    if source is embedding:
        others = candidates.copy()
        others[source_rows] = False
        candidates = others if others.any() else candidates
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


# ---- files


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


# ---- density of layouts

_MAX_INDEX_BYTES = 1 << 30
_MAX_TILE_BYTES = 256 << 20
_IDLE_S = 900.0
#: As many values as the page has distinct colors.
_MAX_COLORS = 60
#: The regions of a larger layout are found in a sample of its points.
_MAX_REGION_POINTS = 500_000
_CENTRAL_LABELS = 2


class LayoutDensity:
    """Tiles and regions of finished layouts, and which points are where. Thread-safe."""

    def __init__(self, library: EmbeddingLibrary, jobs: ProjectorJobs) -> None:
        self._library = library
        self._jobs = jobs
        self._indexes: LruCache[str, DensityIndex] = LruCache(
            max_bytes=_MAX_INDEX_BYTES, idle_s=_IDLE_S, keep_oversized=True
        )
        self._tiles: LruCache[str, TileResponse] = LruCache(
            max_bytes=_MAX_TILE_BYTES, idle_s=_IDLE_S
        )
        self._codes: LruCache[str, UInt8] = LruCache(max_items=4, idle_s=_IDLE_S)
        self._passing: LruCache[str, Bool] = LruCache(max_items=4, idle_s=_IDLE_S)

    def get_bounds(self, request: LayoutPlaneRequest) -> DensityResponse:
        """Return where the points of a layout are; this indexes them."""
        index, layout, _ = self._get_index(request)
        bounds = index.bounds
        return DensityResponse(
            list(bounds.center), bounds.radius, bounds.extent, len(layout), MAX_ZOOM
        )

    def get_tile(self, request: TileRequest) -> TileResponse:
        """Return a tile, with the colors of a column.

        Raises:
            UsageError: There is no such tile or column.
        """
        zoom, x, y = request.zoom, request.x, request.y
        if max(x, y) >= 2**zoom:
            raise UsageError(
                "projector.no_tile",
                "there is no tile {x}, {y} at zoom {zoom}",
                x=x,
                y=y,
                zoom=zoom,
            )
        key = f"{request.job} {request.axes} {zoom} {x} {y} {request.color} {request.revision}"
        key += request.filters

        def build() -> TileResponse:
            index, _, context = self._get_index(request)
            passing = self._get_passing(request.job, context, _parse_filters(request.filters))
            density = index.shade_tile(zoom, x, y, passing)
            if request.color is None:
                return TileResponse(density, None)
            codes = self._get_codes(context, request.color)
            if passing is not None:
                codes = np.where(passing, codes, np.uint8(NO_COLOR))
            return TileResponse(density, index.color_tile(zoom, x, y, codes))

        return self._tiles.get_or_build(
            key, build, lambda tile: tile.density.nbytes * (1 if tile.colors is None else 2)
        )

    def read_nearest(self, request: NearestRequest) -> NearestResponse:
        """Return the point at a position."""
        index, layout, context = self._get_index(request)
        passing = self._get_passing(request.job, context, _parse_filters(request.filters))
        found = index.find_nearest(request.x, request.y, request.radius, passing)
        if found is None:
            return NearestResponse(None, request.x, request.y)
        x, y = layout[found].tolist()
        return NearestResponse(_get_row(context, found), x, y)

    def list_inside(self, request: OutlineRequest) -> SearchResponse:
        """Return the points inside an outline."""
        index, _, context = self._get_index(request)
        corners = request.outline[: len(request.outline) // 2 * 2]
        passing = self._get_passing(request.job, context, request.filters)
        found = index.list_inside(np.array(corners, np.float64).reshape(-1, 2), passing)
        rows: Int32 = found if context.rows is None else context.rows[found]
        return SearchResponse(len(rows), rows)

    def get_positions(self, request: PositionsRequest) -> PositionsResponse:
        """Return the positions of some rows."""
        layout, context = self._get_layout(request.job, request.axes)
        count = self._library.load(context.embedding).row_count
        mask = decode_row_bits(request.rows, count)
        chosen = mask if context.rows is None else mask[context.rows]
        passing = self._get_passing(request.job, context, request.filters)
        found = np.flatnonzero(chosen if passing is None else chosen & passing).astype(np.int32)
        rows = found if context.rows is None else context.rows[found]
        if len(rows) > request.limit:
            picked = np.linspace(0, len(rows) - 1, request.limit).astype(np.int64)
            found, rows = found[picked], rows[picked]
        return PositionsResponse(rows, layout[found, 0], layout[found, 1])

    def get_regions(self, request: RegionsRequest) -> RegionsResponse:
        """Return the dense regions of a layout, named by typical words of their labels."""
        layout, context = self._get_layout(request.job, request.axes)
        embedding = self._library.load(context.embedding)
        if not embedding.columns or layout.shape[1] < 2:
            return RegionsResponse([])
        stride = max(1, len(layout) // _MAX_REGION_POINTS)
        layout = layout[::stride]
        rows = context.rows
        if rows is None:
            rows = np.arange(embedding.row_count, dtype=np.int32)
        rows = rows[::stride]
        found = compute_regions(layout)
        regions = np.full(embedding.row_count, -1, np.int32)
        regions[rows] = found.regions
        central_labels = [_list_labels_near(embedding, layout, rows, peak) for peak in found.peaks]
        words = name_clusters(regions, embedding.columns, central_labels)
        seen: Counter[str] = Counter()
        infos = []
        for own_words, peak, count in zip(words, found.peaks, found.counts, strict=True):
            name = ", ".join(own_words)
            seen[name] += 1
            # The same words twice would not tell regions apart: the larger one keeps the name.
            if name and seen[name] == 1:
                infos.append(RegionInfo(name, int(count) * stride, peak.tolist()))
        return RegionsResponse(infos)

    def _get_index(self, request: LayoutPlaneRequest) -> tuple[DensityIndex, Float32, JobContext]:
        layout, context = self._get_layout(request.job, request.axes)
        key = f"{request.job} {request.axes}"
        index = self._indexes.get_or_build(
            key, lambda: DensityIndex(layout), lambda built: built.size_bytes
        )
        return index, layout, context

    def _get_layout(self, job_key: str, axes: list[int]) -> tuple[Float32, JobContext]:
        """Return the positions of a finished layout along some axes.

        Raises:
            UsageError: The layout is not finished, or has fewer axes.
        """
        job, _ = self._jobs.get(job_key)
        if job.state != "done":
            raise UsageError(
                "projector.layout_not_done", "this layout is not finished; try again later"
            )
        layout, context = self._jobs.get_layout(job_key)
        if max(axes) >= layout.shape[1]:
            raise UsageError(
                "projector.no_axis",
                "this layout has {count} axes",
                count=layout.shape[1],
            )
        return layout[:, axes], context

    def _get_passing(
        self, job_key: str, context: JobContext, filters: ColumnFilters
    ) -> Bool | None:
        """Return which points of a layout pass the filters; None for all."""
        if not filters:
            return None
        embedding = self._library.load(context.embedding)
        # A job key names the rows of the layout as well.
        key = f"{context.embedding.mark} {embedding.revision} {job_key} "
        key += msgspec.json.encode(filters).decode()

        def build() -> Bool:
            by_row = filter_rows(embedding, filters)
            if by_row is None:
                by_row = np.ones(embedding.row_count, np.bool_)
            return by_row if context.rows is None else by_row[context.rows]

        return self._passing.get_or_build(key, build)

    def _get_codes(self, context: JobContext, column: str) -> UInt8:
        """Return the color of each point of a layout: the rank of its value by frequency."""
        embedding = self._library.load(context.embedding)
        labels = embedding.get_column(column)
        key = f"{context.embedding.mark} {embedding.revision} {column} {id(context)}"

        def build() -> UInt8:
            codes = np.full(len(labels.values), NO_COLOR, np.uint8)
            if labels.codes is None:
                return np.full(embedding.row_count, NO_COLOR, np.uint8)
            code_of = {value: code for code, value in enumerate(labels.values)}
            for rank, value in enumerate(list_frequent_values(labels)[:_MAX_COLORS]):
                if value.text:
                    codes[code_of[value.text]] = rank
            return codes[labels.codes]

        by_row = self._codes.get_or_build(key, build)
        return by_row if context.rows is None else by_row[context.rows]


def _parse_filters(filters: str) -> ColumnFilters:
    if not filters:
        return {}
    try:
        return msgspec.json.decode(filters, type=ColumnFilters)
    except msgspec.MsgspecError as error:
        raise UsageError(
            "projector.bad_filters", "the filters are not valid: {error}", error=error
        ) from error


def _get_row(context: JobContext, index: int) -> int:
    return index if context.rows is None else int(context.rows[index])


def _list_labels_near(
    embedding: LoadedEmbedding, layout: Float32, rows: Int32, peak: Float32
) -> list[str]:
    """Return the labels of the points that are nearest to a position."""
    label_column = find_label_column(embedding.columns)
    if label_column is None:
        return []
    column = embedding.get_column(label_column)
    squares = ((layout - peak) ** 2).sum(axis=1)
    count = min(10 * _CENTRAL_LABELS, len(squares))
    nearest = np.argpartition(squares, count - 1)[:count]
    nearest = nearest[np.argsort(squares[nearest])]
    texts = (column.get_text(int(rows[at])) for at in nearest)
    return list(dict.fromkeys(text for text in texts if text))[:_CENTRAL_LABELS]
