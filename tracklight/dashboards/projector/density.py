"""Serve the density of layouts: tiles, hit tests on the server, and named regions."""

from __future__ import annotations

from collections import Counter

import msgspec
import numpy as np

from tracklight.analysis.embeddings.density import (
    MAX_ZOOM,
    NO_COLOR,
    DensityIndex,
    UInt8,
    compute_regions,
)
from tracklight.analysis.embeddings.loading import LoadedEmbedding, decode_row_bits
from tracklight.analysis.embeddings.metadata import find_label_column, name_clusters
from tracklight.dashboards.projector.jobs import JobContext, ProjectorJobs
from tracklight.dashboards.projector.library import EmbeddingLibrary
from tracklight.dashboards.projector.responses import filter_rows, list_frequent_values
from tracklight.dashboards.projector.schemas import (
    ColumnFilters,
    DensityResponse,
    LayoutPlaneRequest,
    NearestRequest,
    NearestResponse,
    OutlineRequest,
    PositionsRequest,
    PositionsResponse,
    RegionInfo,
    RegionsRequest,
    RegionsResponse,
    SearchResponse,
    TileRequest,
    TileResponse,
)
from tracklight.errors import UsageError
from tracklight.types import Bool, Float32, Int32
from tracklight.util.memory import LruCache

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
