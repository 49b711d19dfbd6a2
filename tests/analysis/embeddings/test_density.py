"""Density tiles and dense regions of layouts."""

from __future__ import annotations

import numpy as np
import pytest

from tracklight.analysis.embeddings.density import (
    MAX_ZOOM,
    NO_COLOR,
    TILE_PX,
    DensityIndex,
    compute_regions,
)
from tracklight.types import Float32, Int64


def make_layout(count: int = 5000) -> Float32:
    """Return points around two centers, and an outlier."""
    rng = np.random.default_rng(0)
    layout = rng.normal(size=(count, 2)).astype(np.float32)
    layout[::2] += 8
    layout[-1] = 60, -40
    return layout


def count_directly(index: DensityIndex, layout: Float32, zoom: int, x: int, y: int) -> Int64:
    """Count the points of each pixel one by one from their exact positions."""
    bounds = index.bounds
    side = 2 * bounds.extent / 2**zoom
    columns = np.floor(
        ((layout[:, 0].astype(float) - bounds.center[0] + bounds.extent) / side - x) * TILE_PX
    )
    lines = np.floor(
        ((bounds.center[1] + bounds.extent - layout[:, 1].astype(float)) / side - y) * TILE_PX
    )
    inside = (columns >= 0) & (columns < TILE_PX) & (lines >= 0) & (lines < TILE_PX)
    pixels = (lines * TILE_PX + columns)[inside].astype(np.int64)
    return np.bincount(pixels, minlength=TILE_PX**2)


@pytest.mark.parametrize("zoom", [0, 1, 3, 8])
def test_tiles_of_a_level_have_every_point_once(zoom: int) -> None:
    layout = make_layout()
    index = DensityIndex(layout)
    bounds = index.bounds
    side = 2 * bounds.extent / 2**zoom
    columns = ((layout[:, 0] - bounds.center[0] + bounds.extent) // side).astype(int)
    lines = ((bounds.center[1] + bounds.extent - layout[:, 1]) // side).astype(int)
    tiles = {*zip(columns.tolist(), lines.tolist(), strict=True)}
    assert sum(int(index.count_tile(zoom, x, y).sum()) for x, y in tiles) == len(layout)


@pytest.mark.parametrize("zoom", [0, 2, 8, 9, 12, MAX_ZOOM])
def test_pixels_are_where_the_points_are(zoom: int) -> None:
    layout = make_layout()
    index = DensityIndex(layout)
    bounds = index.bounds
    side = 2 * bounds.extent / 2**zoom
    x = int((layout[0, 0] - bounds.center[0] + bounds.extent) / side)
    y = int((bounds.center[1] + bounds.extent - layout[0, 1]) / side)
    counts, expected = index.count_tile(zoom, x, y), count_directly(index, layout, zoom, x, y)
    assert expected.sum() > 0
    # Single precision may move a point over the border of a pixel.
    assert abs(int(counts.sum()) - int(expected.sum())) <= 2
    assert np.abs(counts - expected).sum() <= 0.01 * expected.sum() + 2


def test_shades_are_logarithmic_and_zero_only_without_points() -> None:
    layout = np.repeat(np.array([[0, 0], [1, 1], [3, 3]], np.float32), [1, 10, 1000], axis=0)
    index = DensityIndex(layout)
    shades = index.shade_tile(0, 0, 0)
    assert np.array_equal(shades > 0, index.count_tile(0, 0, 0) > 0)
    low, middle, high = sorted(shades[shades > 0].tolist())
    assert 1 < low < middle < high == 255
    assert middle - low > 40


def test_colors_are_those_of_the_majority() -> None:
    layout = np.array([[0, 0], [0, 0], [0, 0], [5, 5], [9, 0]], np.float32)
    codes = np.array([1, 1, 0, 2, NO_COLOR], np.uint8)
    colors = DensityIndex(layout).color_tile(0, 0, 0, codes)
    assert sorted(colors[colors != NO_COLOR].tolist()) == [1, 2]


def test_finds_points_at_a_position() -> None:
    layout = make_layout()
    index = DensityIndex(layout)
    for row in (0, 17, len(layout) - 1):
        x, y = layout[row].tolist()
        nearest = int(((layout - layout[row]) ** 2).sum(axis=1).argmin())
        assert index.find_nearest(x + 1e-5, y, 0.01) == nearest
    assert index.find_nearest(30, 30, 0.5) is None
    assert index.find_nearest(1e6, 1e6, 1) is None


def test_finds_points_inside_an_outline() -> None:
    layout = make_layout()
    index = DensityIndex(layout)
    box = np.array([[6, 6], [10, 6], [10, 10], [6, 10]], float)
    inside = ((layout >= 6) & (layout <= 10)).all(axis=1)
    assert index.list_inside(box).tolist() == np.flatnonzero(inside).tolist()
    # The right angle is at the lower left.
    triangle = np.array([[6, 6], [10, 6], [6, 10]], float)
    below = inside & (layout.sum(axis=1) < 16)
    assert index.list_inside(triangle).tolist() == np.flatnonzero(below).tolist()
    assert len(index.list_inside(box + 1e6)) == 0


def test_equal_points_are_one_pixel() -> None:
    index = DensityIndex(np.full((10, 2), 3, np.float32))
    assert index.count_tile(0, 0, 0).max() == 10


@pytest.mark.parametrize("dimensions", [2, 3])
def test_regions_are_the_clusters(dimensions: int) -> None:
    rng = np.random.default_rng(1)
    centers = np.array([[0, 0, 0], [10, 0, 0], [0, 10, 0], [10, 10, 8]], float)[:, :dimensions]
    sizes = [800, 600, 400, 200]
    layout = np.concatenate(
        [
            rng.normal(center, 0.7, (size, dimensions))
            for center, size in zip(centers, sizes, strict=True)
        ]
    ).astype(np.float32)
    truth = np.repeat(np.arange(4), sizes)
    found = compute_regions(layout)
    assert len(found.peaks) == 4
    assert np.linalg.norm(found.peaks - centers, axis=1).max() < 1
    dense = found.regions >= 0
    assert dense.mean() > 0.7
    assert (found.regions[dense] == truth[dense]).all()
    assert found.counts.tolist() == np.bincount(found.regions[dense]).tolist()


def test_one_cloud_is_one_region() -> None:
    layout = np.random.default_rng(2).normal(size=(3000, 2)).astype(np.float32)
    assert len(compute_regions(layout).peaks) == 1


def test_few_or_equal_points_have_no_regions_to_tell_apart() -> None:
    assert len(compute_regions(np.zeros((3, 2), np.float32)).peaks) == 0
    assert len(compute_regions(np.zeros((50, 2), np.float32)).peaks) == 1
