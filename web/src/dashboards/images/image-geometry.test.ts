import { describe, expect, it, test } from 'vitest';

import type { Param } from '../../plugin/context';
import {
  computeTransform,
  FIT_VIEWPORT,
  fitScale,
  panBy,
  type PaneGeometry,
  pixelAt,
  tileLevel,
  type Viewport,
  visibleTiles,
  zoomAt,
  zoomForScale,
} from './image-geometry';
import {
  findPixel,
  formatPixel,
  makePixelLabel,
  ViewerState,
  visiblePixels,
} from './viewer/image-viewer-state.svelte';

const WIDE = { size: { width: 400, height: 300 }, imageSize: { width: 200, height: 50 } };

test('an image fits and is centered', () => {
  expect(computeTransform(WIDE, FIT_VIEWPORT)).toEqual({ scale: 2, left: 0, top: 100 });
});

test('zooming keeps the pixel under the pointer', () => {
  const at = { x: 100, y: 150 };
  const before = pixelAt(WIDE, FIT_VIEWPORT, at);
  const zoomed = zoomAt(WIDE, FIT_VIEWPORT, at, 8);
  expect(zoomed.zoom).toBe(8);
  expect(pixelAt(WIDE, zoomed, at)).toEqual(before);
  expect(computeTransform(WIDE, zoomed).scale).toBe(16);
});

test('zoom is limited', () => {
  expect(zoomAt(WIDE, FIT_VIEWPORT, { x: 0, y: 0 }, 1e9).zoom * fitScale(WIDE)).toBe(96);
  expect(zoomAt(WIDE, FIT_VIEWPORT, { x: 0, y: 0 }, 1e-9).zoom).toBe(0.5);
  const large = { ...WIDE, imageSize: { width: 4000, height: 1000 } };
  expect(zoomAt(large, FIT_VIEWPORT, { x: 0, y: 0 }, 1e-9).zoom).toBe(1);
});

test('an image is not panned out of its pane', () => {
  expect(panBy(WIDE, FIT_VIEWPORT, 100, 100)).toEqual(FIT_VIEWPORT);
  const zoomed = zoomAt(WIDE, FIT_VIEWPORT, { x: 200, y: 150 }, 8);
  const moved = panBy(WIDE, zoomed, 1e6, 1e6);
  expect(computeTransform(WIDE, moved)).toMatchObject({ left: 0, top: 0 });
  const back = panBy(WIDE, zoomed, -1e6, -1e6);
  expect(computeTransform(WIDE, back)).toMatchObject({ left: 400 - 200 * 16, top: 300 - 50 * 16 });
});

test('panning moves the image by the same distance', () => {
  const zoomed = zoomAt(WIDE, FIT_VIEWPORT, { x: 200, y: 150 }, 8);
  const before = computeTransform(WIDE, zoomed);
  const after = computeTransform(WIDE, panBy(WIDE, zoomed, 30, -20));
  expect(after.left - before.left).toBeCloseTo(30);
  expect(after.top - before.top).toBeCloseTo(-20);
});

test('there are no pixels beside the image', () => {
  expect(pixelAt(WIDE, FIT_VIEWPORT, { x: 0, y: 100 })).toEqual({ x: 0, y: 0 });
  expect(pixelAt(WIDE, FIT_VIEWPORT, { x: 399, y: 199 })).toEqual({ x: 199, y: 49 });
  expect(pixelAt(WIDE, FIT_VIEWPORT, { x: 10, y: 99 })).toBeNull();
});

test('zoomForScale is the inverse of computeTransform', () => {
  expect(computeTransform(WIDE, { ...FIT_VIEWPORT, zoom: zoomForScale(WIDE, 1) }).scale).toBe(1);
});

const HUGE = { width: 10_000, height: 10_000 };

test('the level is the coarsest that is sharp', () => {
  expect(tileLevel(HUGE, 3)).toBe(0);
  expect(tileLevel(HUGE, 1)).toBe(0);
  expect(tileLevel(HUGE, 0.51)).toBe(0);
  expect(tileLevel(HUGE, 0.5)).toBe(1);
  expect(tileLevel(HUGE, 0.1)).toBe(3);
  expect(tileLevel(HUGE, 1e-6)).toBe(5);
});

test('only visible tiles are returned', () => {
  const paneSize = { width: 1000, height: 600 };
  const tiles = visibleTiles(HUGE, paneSize, { left: 0, top: 0, scale: 1 }, 0);
  expect(tiles).toHaveLength(2 * 2);
  const far = visibleTiles(HUGE, paneSize, { left: -9000, top: -9400, scale: 1 }, 0);
  expect(Math.max(...far.map(({ x }) => x))).toBe(19);
  expect(far.every(({ left, width }) => left + width <= 10_000)).toBe(true);
});

test('tiles cover the image once', () => {
  const paneSize = { width: 500, height: 500 };
  const tiles = visibleTiles(HUGE, paneSize, { left: 0, top: 0, scale: 0.05 }, 4);
  expect(tiles).toHaveLength(4);
  expect(tiles.reduce((sum, { width, height }) => sum + width * height, 0)).toBe(1e8);
});

test('tiles in the center come first', () => {
  const paneSize = { width: 1536, height: 1536 };
  const [first] = visibleTiles(HUGE, paneSize, { left: 0, top: 0, scale: 1 }, 0);
  expect(first).toMatchObject({ x: 1, y: 1, left: 512, top: 512 });
});

describe('image viewer state', () => {
  function makePane(size: number): PaneGeometry {
    return { size: { width: size, height: size }, imageSize: { width: 1000, height: 1000 } };
  }

  function makeViewer(): ViewerState {
    let value: Viewport = FIT_VIEWPORT;
    const viewport: Param<Viewport> = {
      get value() {
        return value;
      },
      set: (changed) => void (value = changed),
    };
    return new ViewerState(viewport);
  }

  describe('activePane', () => {
    it('has its current size', () => {
      const viewer = makeViewer();
      viewer.setPane('a', makePane(40));
      viewer.setPane('a', makePane(500));
      expect(viewer.activePane).toEqual(makePane(500));
    });

    it('is the first one, until another one is active', () => {
      const viewer = makeViewer();
      viewer.setPane('a', makePane(500));
      viewer.setPane('b', makePane(250));
      expect(viewer.activePane).toEqual(makePane(500));
      viewer.activatePane('b');
      expect(viewer.activePane).toEqual(makePane(250));
    });

    it('is another one after it is removed', () => {
      const viewer = makeViewer();
      viewer.setPane('a', makePane(500));
      viewer.setPane('b', makePane(250));
      viewer.activatePane('a');
      viewer.removePane('a');
      expect(viewer.activePane).toEqual(makePane(250));
      viewer.removePane('b');
      expect(viewer.activePane).toBeNull();
    });
  });
});

describe('pixel values', () => {
  const BLOCK = {
    ...{ x: 64, y: 128, width: 2, height: 2, bits: 16 },
    channels: ['red', 'green', 'blue'],
    values: Int32Array.of(1, 2, 3, 4, 5, 6, 7, 8, 9, 65535, 11, 12),
  };

  test('finds a pixel in its block', () => {
    const pixel = findPixel(BLOCK, { x: 65, y: 129 });
    expect(pixel?.values).toEqual([65535, 11, 12]);
    expect(pixel && formatPixel(pixel)).toBe('R 65535  G 11  B 12');
    expect(pixel && makePixelLabel(pixel).text).toBe('65535\n11\n12');
    expect(findPixel(BLOCK, { x: 66, y: 129 })).toBeNull();
  });

  test('gray values have no label, floats are rounded', () => {
    const gray = { x: 0, y: 0, bits: 32, channels: ['gray'], values: [0.1 + 0.2] };
    expect(formatPixel(gray)).toBe('0.3');
  });

  const imageSize = { width: 10, height: 5 };
  const paneSize = { width: 100, height: 100 };

  test('only visible pixels are labeled', () => {
    const pixels = visiblePixels(imageSize, { left: -70, top: 10, scale: 50 }, paneSize);
    expect(pixels).toEqual([
      { x: 1, y: 0 },
      { x: 2, y: 0 },
      { x: 3, y: 0 },
      { x: 1, y: 1 },
      { x: 2, y: 1 },
      { x: 3, y: 1 },
    ]);
  });

  test('there are no visible pixels beside the image', () => {
    expect(visiblePixels(imageSize, { left: 200, top: 0, scale: 50 }, paneSize)).toEqual([]);
  });
});
