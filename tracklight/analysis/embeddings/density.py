"""Density of a layout: tiles for layouts of many points, and its dense regions.

`DensityIndex` sorts points along a Z-order curve, on which the points of any tile of the quadtree
are consecutive. A tile is then a histogram of a slice: ten million points need no precomputed
pyramid. `compute_regions` finds the peaks of the density and the points around them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracklight.types import Bool, Float32, Float64, Int32, Int64

UInt8 = NDArray[np.uint8]
UInt32 = NDArray[np.uint32]

#: Pixels along the side of a tile.
TILE_PX = 256
#: Deeper tiles are not needed: their pixels are smaller than the precision of float32.
MAX_ZOOM = 20
#: Value of a pixel without points, or whose points have none of the given colors.
NO_COLOR = 255

_TILE_BITS = 8
#: Bits of each coordinate in a code.
_CODE_BITS = 16
#: The radius contains this share of the points; the page fits it to the screen.
_RADIUS_QUANTILE = 0.995
_RADIUS_SAMPLE = 200_000


@dataclass(frozen=True, slots=True)
class LayoutBounds:
    """Where the points of a layout are."""

    center: tuple[float, float]
    radius: float
    """Most points are within this distance of the center."""
    extent: float
    """Half of the side of the square around the center that contains all points."""


class DensityIndex:
    """The points of a flat layout, by tiles. Immutable, so that threads can share it."""

    def __init__(self, layout: Float32) -> None:
        """Index a layout.

        Args:
            layout: Finite positions [points, 2].
        """
        self.bounds = _measure(layout)
        scale = 2**_CODE_BITS / (2 * self.bounds.extent)
        code = _spread_bits(self._quantize(layout[:, 0], 0, scale))
        code |= _spread_bits(self._quantize(layout[:, 1], 1, scale)) << np.uint32(1)
        self._order: Int32 = np.argsort(code, kind="stable").astype(np.int32)
        self._codes: UInt32 = code[self._order]
        self._x: Float32 = np.ascontiguousarray(layout[self._order, 0])
        self._y: Float32 = np.ascontiguousarray(layout[self._order, 1])
        self._max_counts: dict[int, int] = {}

    @property
    def size_bytes(self) -> int:
        """Approximate memory use."""
        return sum(array.nbytes for array in (self._order, self._codes, self._x, self._y))

    def count_tile(self, zoom: int, x: int, y: int, passing: Bool | None = None) -> Int64:
        """Return the number of points in each pixel of a tile, row by row from the top.

        At ``zoom`` 0, one tile covers the square of the bounds; each further level halves its side.

        Args:
            zoom: The level of the tile.
            x: Its column, from the left.
            y: Its row, from the top.
            passing: Which points are counted, in the order of the layout; all by default.
        """
        points = self._slice(zoom, x, y)
        pixels = self._get_pixels(points, zoom, x, y)
        if passing is not None:
            pixels = pixels[passing[self._order[points]]]
        counts: Int64 = np.bincount(pixels, minlength=TILE_PX**2)[: TILE_PX**2]
        return counts

    def shade_tile(self, zoom: int, x: int, y: int, passing: Bool | None = None) -> UInt8:
        """Return the density of each pixel from 0 to 255, logarithmic; 0 only without points.

        The scale is that of all points, so that filtered tiles can be compared with others.
        """
        counts = self.count_tile(zoom, x, y, passing)
        scale = 254 / np.log1p(max(1, self._get_max_count(zoom)))
        shades = np.minimum(255, 1 + np.log1p(counts) * scale)
        return np.where(counts > 0, shades, 0).astype(np.uint8)

    def color_tile(self, zoom: int, x: int, y: int, codes: UInt8) -> UInt8:
        """Return the most frequent code of the points in each pixel of a tile.

        Args:
            zoom: The level of the tile.
            x: Its column, from the left.
            y: Its row, from the top.
            codes: The code of each point in the order of the layout; `NO_COLOR` is not counted.
        """
        points = self._slice(zoom, x, y)
        point_codes = codes[self._order[points]]
        pixels = self._get_pixels(points, zoom, x, y)
        known = (point_codes != NO_COLOR) & (pixels < TILE_PX**2)
        if not known.any():
            return np.full(TILE_PX**2, NO_COLOR, np.uint8)
        code_count = int(point_codes[known].max()) + 1
        counts = np.bincount(
            pixels[known] * code_count + point_codes[known], minlength=TILE_PX**2 * code_count
        ).reshape(TILE_PX**2, code_count)
        dominant: UInt8 = counts.argmax(axis=1).astype(np.uint8)
        dominant[~counts.any(axis=1)] = NO_COLOR
        return dominant

    def find_nearest(
        self, x: float, y: float, radius: float, passing: Bool | None = None
    ) -> int | None:
        """Return the point that is nearest to a position, within a radius.

        Args:
            x: The position.
            y: The position.
            radius: The largest distance.
            passing: Which points can be found, in the order of the layout; all by default.
        """
        points = self._list_in_box(x - radius, x + radius, y - radius, y + radius, passing)
        if not len(points):
            return None
        squares = (self._x[points] - x) ** 2 + (self._y[points] - y) ** 2
        nearest = int(squares.argmin())
        return int(self._order[points[nearest]]) if squares[nearest] <= radius**2 else None

    def list_inside(self, outline: Float64, passing: Bool | None = None) -> Int32:
        """Return the points inside a polygon (even-odd rule), in ascending order.

        Args:
            outline: The corners [corners, 2].
            passing: Which points can be found, in the order of the layout; all by default.
        """
        (left, bottom), (right, top) = outline.min(axis=0), outline.max(axis=0)
        points = self._list_in_box(left, right, bottom, top, passing)
        x, y = self._x[points].astype(np.float64), self._y[points].astype(np.float64)
        inside: Bool = np.zeros(len(points), np.bool_)
        for (ax, ay), (bx, by) in zip(outline, np.roll(outline, 1, axis=0), strict=True):
            if ay == by:
                continue
            crosses = (ay > y) != (by > y)
            inside ^= crosses & (x < (bx - ax) * (y - ay) / (by - ay) + ax)
        rows: Int32 = np.sort(self._order[points[inside]])
        return rows

    def _quantize(self, values: Float32, axis: int, scale: float) -> UInt32:
        """Return the cell of each coordinate; y counts from the top."""
        offset = values - np.float32(self.bounds.center[axis])
        if axis == 1:
            offset = -offset
        cells = (offset + np.float32(self.bounds.extent)) * np.float32(scale)
        quantized: UInt32 = np.clip(cells, 0, 2**_CODE_BITS - 1).astype(np.uint32)
        return quantized

    def _slice(self, zoom: int, x: int, y: int) -> slice:
        """Return the points of a tile, or of the smallest coded square around it."""
        depth = min(zoom, _CODE_BITS)
        x, y = x >> (zoom - depth), y >> (zoom - depth)
        shift = 2 * (_CODE_BITS - depth)
        prefix = _interleave(x, y)
        start = np.searchsorted(self._codes, np.uint32(prefix << shift))
        # Other types than that of the codes would convert all of them.
        last = np.uint32(((prefix + 1) << shift) - 1)
        return slice(int(start), int(np.searchsorted(self._codes, last, side="right")))

    def _get_pixels(self, points: slice, zoom: int, x: int, y: int) -> Int64:
        """Return the pixel of each point of a slice; one past the last for points beside it."""
        if zoom + _TILE_BITS <= _CODE_BITS:
            shift = 2 * (_CODE_BITS - zoom - _TILE_BITS)
            inside = (self._codes[points] >> np.uint32(shift)) & np.uint32(TILE_PX**2 - 1)
            pixels: Int64 = _PIXEL_OF_CODE[inside]
            return pixels
        side = 2 * self.bounds.extent / 2**zoom
        left = self.bounds.center[0] - self.bounds.extent + x * side
        top = self.bounds.center[1] + self.bounds.extent - y * side
        columns = np.floor((self._x[points] - np.float64(left)) * (TILE_PX / side))
        lines = np.floor((np.float64(top) - self._y[points]) * (TILE_PX / side))
        inside_tile = (columns >= 0) & (columns < TILE_PX) & (lines >= 0) & (lines < TILE_PX)
        pixels = np.where(inside_tile, lines * TILE_PX + columns, TILE_PX**2).astype(np.int64)
        return pixels

    def _get_max_count(self, zoom: int) -> int:
        """Return the largest number of points in a pixel of any tile of a level."""
        level = min(zoom, _CODE_BITS - _TILE_BITS)
        if level not in self._max_counts:
            prefixes = self._codes >> np.uint32(2 * (_CODE_BITS - level - _TILE_BITS))
            starts = np.flatnonzero(np.diff(prefixes, prepend=prefixes[:1] + np.uint32(1)))
            self._max_counts[level] = int(np.diff(starts, append=len(prefixes)).max())
        # A pixel of a deeper level has a quarter of the area.
        return max(1, self._max_counts[level] >> 2 * (zoom - level))

    def _list_in_box(
        self, left: float, right: float, bottom: float, top: float, passing: Bool | None
    ) -> Int64:
        """Return the sorted points inside a box."""
        candidates = self._list_candidates(left, right, bottom, top)
        x, y = self._x[candidates], self._y[candidates]
        found = candidates[(x >= left) & (x <= right) & (y >= bottom) & (y <= top)]
        return found if passing is None else found[passing[self._order[found]]]

    def _list_candidates(self, left: float, right: float, bottom: float, top: float) -> Int64:
        """Return the points of the tiles that a box touches; at most four of them are needed."""
        extent = self.bounds.extent
        size = max(right - left, top - bottom, 2 * extent / 2**_CODE_BITS)
        zoom = int(np.clip(np.floor(np.log2(2 * extent / size)), 0, _CODE_BITS))
        side, last = 2 * extent / 2**zoom, 2**zoom - 1
        origin_x, origin_y = self.bounds.center[0] - extent, self.bounds.center[1] + extent
        columns = np.clip(np.floor((np.array([left, right]) - origin_x) / side), 0, last)
        lines = np.clip(np.floor((origin_y - np.array([top, bottom])) / side), 0, last)
        slices = [
            self._slice(zoom, column, line)
            for line in range(int(lines[0]), int(lines[1]) + 1)
            for column in range(int(columns[0]), int(columns[1]) + 1)
        ]
        return np.concatenate([np.arange(found.start, found.stop) for found in slices])


def _measure(layout: Float32) -> LayoutBounds:
    center = layout.mean(axis=0, dtype=np.float64)
    stride = max(1, len(layout) // _RADIUS_SAMPLE)
    distances = np.linalg.norm(layout[::stride] - center, axis=1)
    radius = float(np.quantile(distances, _RADIUS_QUANTILE)) or 1.0
    low, high = layout.min(axis=0), layout.max(axis=0)
    extent = float(np.maximum(high - center, center - low).max())
    # The margin keeps the outermost points off the border, where rounding would lose them.
    return LayoutBounds((float(center[0]), float(center[1])), radius, 1.001 * (extent or radius))


def _spread_bits(values: UInt32) -> UInt32:
    """Put a zero bit before each of the lower 16 bits."""
    steps = ((8, 0x00FF00FF), (4, 0x0F0F0F0F), (2, 0x33333333), (1, 0x55555555))
    for shift, mask in steps:
        values = (values | (values << np.uint32(shift))) & np.uint32(mask)
    return values


def _interleave(x: int, y: int) -> int:
    cells = _spread_bits(np.array([x, y], np.uint32))
    return int(cells[0]) | int(cells[1]) << 1


def _make_pixel_table() -> Int64:
    """Return the pixel of each code of 16 bits."""
    columns, lines = np.meshgrid(np.arange(TILE_PX), np.arange(TILE_PX))
    codes = _spread_bits(columns.astype(np.uint32).ravel())
    codes |= _spread_bits(lines.astype(np.uint32).ravel()) << np.uint32(1)
    table = np.empty(TILE_PX**2, np.int64)
    table[codes] = np.arange(TILE_PX**2)
    return table


_PIXEL_OF_CODE = _make_pixel_table()


# ---- regions

#: Cells along each axis, by the number of axes.
_GRID_SIDES = {2: 64, 3: 24}
_MAX_REGIONS = 40
_MIN_REGION_SHARE = 0.004
_MIN_REGION_POINTS = 8
#: Two peaks are one region if the density between them is at least this share of the lower peak.
_SADDLE_SHARE = 0.7
#: Points where the density is lower than this share of the peak belong to no region.
_EDGE_SHARE = 0.15
#: Outliers do not stretch the grid.
_GRID_QUANTILES = (0.002, 0.998)


@dataclass(frozen=True, eq=False)
class DenseRegions:
    """Regions where points are dense, the largest first."""

    regions: Int32
    """The region of each point, -1 for none."""
    peaks: Float32
    """The position of the densest place of each region [regions, dimensions]."""
    counts: Int32


def compute_regions(layout: Float32) -> DenseRegions:
    """Return the dense regions of a layout with two or three dimensions.

    The density is estimated on a grid. Each cell belongs to the peak that is reached by going
    uphill; peaks without a valley between them are merged.
    """
    dimensions = layout.shape[1]
    side = _GRID_SIDES[dimensions]
    cells = _assign_cells(layout, side)
    counts = np.bincount(cells, minlength=side**dimensions).reshape((side,) * dimensions)
    # Scott's rule for one of several clusters, which are narrower than the whole.
    sigma = max(1.0, side / 8 * len(layout) ** (-1 / (dimensions + 4)))
    density = _smooth(counts.astype(np.float64), sigma)
    peaks = _merge_peaks(_climb(density), density)
    flat_density = density.ravel()
    peak_of_point = peaks[cells]
    is_dense = flat_density[cells] >= _EDGE_SHARE * flat_density[peak_of_point]
    found, index = np.unique(np.where(is_dense, peak_of_point, -1), return_inverse=True)
    sizes = np.bincount(index.ravel(), minlength=len(found))
    min_size = max(_MIN_REGION_POINTS, int(_MIN_REGION_SHARE * len(layout)))
    order = [
        at for at in np.argsort(-sizes, kind="stable") if found[at] >= 0 and sizes[at] >= min_size
    ][:_MAX_REGIONS]
    rank = np.full(len(found), -1, np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    regions: Int32 = rank[index.ravel()]
    centers = [
        _average_peak(layout, cells, int(found[at]), flat_density, regions == rank[at])
        for at in order
    ]
    return DenseRegions(
        regions,
        np.array(centers, np.float32).reshape(len(order), dimensions),
        sizes[order].astype(np.int32),
    )


def _average_peak(
    layout: Float32, cells: Int64, peak: int, density: Float64, is_member: Bool
) -> Float32:
    """Return the mean of the densest points of a region."""
    core = is_member & (density[cells] >= 0.8 * density[peak])
    mean: Float32 = layout[core if core.any() else is_member].mean(axis=0)
    return mean


def _assign_cells(layout: Float32, side: int) -> Int64:
    cells = np.zeros(len(layout), np.int64)
    for axis in range(layout.shape[1]):
        low, high = np.quantile(layout[:, axis], _GRID_QUANTILES)
        margin = 0.05 * (high - low) or 1.0
        scale = side / (high - low + 2 * margin)
        position = ((layout[:, axis] - (low - margin)) * scale).astype(np.int64)
        cells = cells * side + np.clip(position, 0, side - 1)
    return cells


def _smooth(counts: Float64, sigma: float) -> Float64:
    """Convolve with a Gaussian along each axis."""
    radius = int(np.ceil(3 * sigma))
    kernel = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
    kernel /= kernel.sum()
    for axis in range(counts.ndim):
        counts = np.apply_along_axis(
            lambda line: np.convolve(line, kernel, mode="full")[radius:-radius], axis, counts
        )
    return counts


def _list_shifts(dimensions: int) -> list[tuple[int, ...]]:
    """Return one of each two opposite steps to a neighboring cell."""
    steps = [step for step in np.ndindex((3,) * dimensions)]
    shifts = [tuple(part - 1 for part in step) for step in steps]
    return [shift for shift in shifts if shift > (0,) * dimensions]


def _pair_cells(shape: tuple[int, ...], shift: tuple[int, ...]) -> tuple[Int64, Int64]:
    """Return the cells that have a neighbor at a shift, and these neighbors."""
    ids = np.arange(int(np.prod(shape))).reshape(shape)
    first = tuple(
        slice(max(0, -part), size - max(0, part)) for part, size in zip(shift, shape, strict=True)
    )
    second = tuple(
        slice(max(0, part), size - max(0, -part)) for part, size in zip(shift, shape, strict=True)
    )
    return ids[first].ravel(), ids[second].ravel()


def _climb(density: Float64) -> Int64:
    """Return the peak that each cell leads to by steepest ascent."""
    flat = density.ravel()
    target = np.arange(len(flat))
    best = flat.copy()
    for shift in _list_shifts(density.ndim):
        first, second = _pair_cells(density.shape, shift)
        for cells, neighbors in ((first, second), (second, first)):
            higher = flat[neighbors] > best[cells]
            best[cells[higher]] = flat[neighbors[higher]]
            target[cells[higher]] = neighbors[higher]
    while True:
        further = target[target]
        if (further == target).all():
            return target
        target = further


def _merge_peaks(peaks: Int64, density: Float64) -> Int64:
    """Merge peaks whose saddle is almost as high as the lower of them."""
    flat = density.ravel()
    saddles: dict[tuple[int, int], float] = {}
    for shift in _list_shifts(density.ndim):
        first, second = _pair_cells(density.shape, shift)
        differs = (peaks[first] != peaks[second]) & (flat[first] > 0) & (flat[second] > 0)
        first, second = first[differs], second[differs]
        heights = np.minimum(flat[first], flat[second])
        for one, other, height in zip(
            peaks[first].tolist(), peaks[second].tolist(), heights.tolist(), strict=True
        ):
            pair = (one, other) if one < other else (other, one)
            saddles[pair] = max(height, saddles.get(pair, 0.0))
    parents = {int(peak): int(peak) for peak in np.unique(peaks)}

    def get_root(peak: int) -> int:
        while parents[peak] != peak:
            parents[peak] = peak = parents[parents[peak]]
        return peak

    # From the highest saddle down, as water would connect the peaks.
    for (one, other), height in sorted(saddles.items(), key=lambda item: -item[1]):
        both = get_root(one), get_root(other)
        low, high = sorted(both, key=lambda peak: float(flat[peak]))
        if low != high and height >= _SADDLE_SHARE * flat[low]:
            parents[low] = high
    roots: Int64 = np.arange(len(flat))
    for peak in parents:
        roots[peak] = get_root(peak)
    merged: Int64 = roots[peaks]
    return merged
