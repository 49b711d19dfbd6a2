import { describe, expect, it, test } from 'vitest';

import { NetworkError } from '../../api/errors';
import type { ImageInfo } from '../../api/schemas';
import type { Param } from '../../plugin/context';
import {
  amplify,
  computeDifference,
  imagePairCodec,
  type PixelBuffer,
  viewportCodec,
} from './images-state.svelte';
import {
  getAspectRatio,
  computeTransform,
  makeDistinguishingLabels,
  FIT_VIEWPORT,
  fitInside,
  fitScale,
  layoutGrid,
  layoutGroups,
  layoutImages,
  measureGrid,
  panBy,
  type PaneGeometry,
  getPixelAt,
  sampleEvenly,
  selectImages,
  getImageTileLevel,
  type Viewport,
  visibleTiles,
  zoomAt,
  zoomForScale,
} from './image-layout';
import { LatestRequest } from './image-loader.svelte';
import {
  getArchivePath,
  describeImage,
  hasAlpha,
  makeImagePythonCode,
  ImageValue,
  getNeededImageSize,
  getThumbnailPath,
} from './query';
import {
  findPixel,
  formatPixel,
  makePixelLabel,
  ViewerState,
  visiblePixels,
} from './viewer/image-viewer-state.svelte';

describe('image layout', () => {
  const PLAIN = { gap: 0, captionHeight: 0, minWidth: 20, minImageWidth: 15 };

  test('one image gets all the space', () => {
    const space = { width: 300, height: 200 };
    expect(layoutGrid(1, 1, space, PLAIN)).toEqual({ columns: 1, rows: 1, ...space });
  });

  test('images are as large as possible', () => {
    expect(layoutGrid(2, 1, { width: 400, height: 200 }, PLAIN)).toMatchObject({
      columns: 2,
      rows: 1,
    });
    expect(layoutGrid(2, 1, { width: 200, height: 400 }, PLAIN)).toMatchObject({
      columns: 1,
      rows: 2,
    });
    expect(layoutGrid(20, 1, { width: 500, height: 400 }, PLAIN)).toMatchObject({
      columns: 5,
      rows: 4,
    });
    expect(layoutGrid(3, 8, { width: 400, height: 200 }, PLAIN)).toMatchObject({
      columns: 1,
      rows: 3,
    });
  });

  test('gaps and captions are included', () => {
    const spacing = { ...PLAIN, gap: 10, captionHeight: 20 };
    const grid = layoutGrid(4, 1, { width: 210, height: 250 }, spacing);
    expect(grid).toEqual({ columns: 2, rows: 2, width: 100, height: 120 });
  });

  test('images that would be too small scroll', () => {
    const spacing = { ...PLAIN, minWidth: 100, minImageWidth: 75 };
    const grid = layoutGrid(500, 1, { width: 330, height: 200 }, spacing);
    expect(grid).toMatchObject({ columns: 3, rows: 167, width: 110, height: 110 });
  });

  test('small images in large groups do not scroll', () => {
    const digits = { count: 20, aspect: 1, gap: 2 };
    const spacing = { gap: 8, captionHeight: 20, minWidth: 96, minImageWidth: 14 };
    const grid = layoutGroups(3, digits, { width: 318, height: 250 }, spacing);
    expect(grid).toMatchObject({ columns: 3, rows: 1, height: 250 });
  });

  test('groups are arranged so that their images are large', () => {
    const batch8 = { count: 8, aspect: 1, gap: 0 };
    // Two rows of eight images.
    expect(layoutGroups(2, batch8, { width: 400, height: 100 }, PLAIN)).toMatchObject({
      columns: 1,
      rows: 2,
    });
    const single = { count: 1, aspect: 1, gap: 0 };
    expect(layoutGroups(2, single, { width: 400, height: 200 }, PLAIN).columns).toBe(2);
  });

  test('a layout without space is valid', () => {
    const grid = layoutGrid(3, 1, { width: 0, height: 0 }, PLAIN);
    expect(grid.columns).toBe(1);
    expect(grid.width).toBeGreaterThan(0);
  });

  const part = (at: number, width: number, height: number): ImageInfo =>
    ({ part: at, width, height, video: false, problem: null }) as ImageInfo;
  const batch = Array.from({ length: 20 }, (_, at) => part(at, 28, 28));

  test('selects all images of a step, or one', () => {
    expect(selectImages(batch, null)).toHaveLength(20);
    expect(selectImages(batch, 3).map(({ part }) => part)).toEqual([3]);
    expect(selectImages(batch, 99).map(({ part }) => part)).toEqual([19]);
    expect(selectImages([], 0)).toEqual([]);
  });

  test('a batch of twenty images fills a grid', () => {
    const { columns, tile } = layoutImages(batch, { width: 340, height: 270 });
    expect(columns).toBe(5);
    expect(tile.width).toBe(tile.height);
    expect(tile.width).toBeGreaterThan(60);
  });

  test('the aspect ratio is that of the first valid image', () => {
    expect(getAspectRatio([part(0, 0, 0), part(1, 40, 20)])).toBe(2);
    expect(getAspectRatio([])).toBe(1);
  });

  test('an image keeps its aspect ratio in a box', () => {
    expect(fitInside({ width: 40, height: 20 }, { width: 100, height: 100 })).toEqual({
      width: 100,
      height: 50,
    });
    expect(fitInside({ width: 0, height: 0 }, { width: 9, height: 8 })).toEqual({
      width: 9,
      height: 8,
    });
  });

  test('few runs have large cells, many have small ones and scroll', () => {
    const space = { width: 800, height: 600 };
    expect(measureGrid(1, 1, space)).toMatchObject({ width: 180, height: 180, columns: 4 });
    const many = measureGrid(50, 1, space);
    expect(many).toMatchObject({ width: 56, height: 56 });
    expect(many.columns).toBe(13);
  });

  test('at least four steps fit', () => {
    for (const width of [300, 301, 302, 303, 520])
      expect(measureGrid(2, 10, { width, height: 450 }).columns).toBe(4);
    expect(measureGrid(1, 10, { width: 300, height: 300 }).width).toBe(72);
  });

  const upTo = (count: number): Float64Array => Float64Array.from({ length: count }, (_, at) => at);

  test('few items are returned unchanged', () => {
    expect(sampleEvenly([3, 1, 2], 5)).toEqual([3, 1, 2]);
  });

  test('samples include the first and the last item', () => {
    expect(sampleEvenly(upTo(101), 5)).toEqual([0, 25, 50, 75, 100]);
    const sample = sampleEvenly(upTo(10_000), 7);
    expect(sample[0]).toBe(0);
    expect(sample.at(-1)).toBe(9999);
    expect(new Set(sample).size).toBe(7);
  });

  test('a sample of one is the last item', () => {
    expect(sampleEvenly(upTo(9), 1)).toEqual([8]);
  });

  test('removes common folders', () => {
    expect(
      makeDistinguishingLabels(['sweep/lr=0.01/validation', 'sweep/lr=0.1/validation']),
    ).toEqual(['lr=0.01', 'lr=0.1']);
    expect(makeDistinguishingLabels(['a/train', 'a/validation'])).toEqual(['train', 'validation']);
  });

  test('labels do not become empty', () => {
    expect(makeDistinguishingLabels(['a/b'])).toEqual(['a/b']);
    expect(makeDistinguishingLabels(['a', 'a/b'])).toEqual(['a', 'a/b']);
    expect(makeDistinguishingLabels(['x/a', 'x/a'])).toEqual(['a', 'a']);
  });
});

describe('query', () => {
  const STEPS = {
    run: 'a b',
    tag: 'x/y',
    index: Int32Array.of(4, 5),
    step: Float64Array.of(10, 20),
    wallTime: Float64Array.of(1, 2),
    fingerprint: Int32Array.of(77, 78),
  };
  const VALUE = new ImageValue(STEPS, 1);

  function makeInfo(changes: Partial<ImageInfo> = {}): ImageInfo {
    return {
      ...{ part: 2, format: 'PNG', media_type: 'image/png', width: 100, height: 50, mode: 'RGB' },
      ...{ channels: 3, bits: 8, bytes: 9, frames: 1, duration_ms: 0, video: false, tiled: false },
      ...{ problem: null, ...changes },
    };
  }

  test('the key of a value contains its fingerprint', () => {
    expect(VALUE.key).toBe('about?run=a%20b&tag=x%2Fy&index=5&fingerprint=78');
    expect(VALUE.step).toBe(20);
    expect(VALUE.neighbor(-1)?.step).toBe(10);
    expect(VALUE.neighbor(1)).toBeUndefined();
  });

  test('the needed size is in screen pixels and at most that of the image', () => {
    const size = { width: 1000, height: 500 };
    expect(getNeededImageSize(size, { width: 300, height: 300 }, 2)).toBe(600);
    expect(getNeededImageSize({ width: 28, height: 28 }, { width: 300, height: 300 }, 2)).toBe(28);
  });

  test('the smallest sufficient thumbnail is used, else the original', () => {
    const end = (side: number, changes: Partial<ImageInfo> = {}): string =>
      getThumbnailPath(VALUE, makeInfo(changes), side, true).replace(/.*&fingerprint=78/, '');
    expect(end(60)).toBe('&part=2&size=64');
    expect(end(65)).toBe('&part=2&size=128');
    expect(end(2048)).toBe('&part=2&size=2048');
    expect(end(2049)).toBe('&part=2');
    expect(end(9000, { tiled: true })).toBe('&part=2&size=2048');
  });

  test('an export has one size', () => {
    expect(getThumbnailPath(VALUE, makeInfo(), 60, false)).toContain('thumbnail?');
    expect(getThumbnailPath(VALUE, makeInfo(), 60, false)).toContain('size=512');
  });

  test('describes the format of an image', () => {
    expect(describeImage(makeInfo())).toBe('100 × 50 · PNG');
    expect(describeImage(makeInfo({ mode: 'I;16', bits: 16 }))).toBe(
      '100 × 50 · PNG · 16-bit · grayscale',
    );
    expect(describeImage(makeInfo({ mode: 'LA', frames: 3 }))).toContain('with alpha · 3 frames');
    expect([makeInfo({ mode: 'RGBA' }), makeInfo({ mode: 'RGB' })].map(hasAlpha)).toEqual([
      true,
      false,
    ]);
  });

  test('the archive contains the selected runs', () => {
    expect(getArchivePath('a/b', ['x', 'y z'])).toBe('archive?tag=a%2Fb&runs=x&runs=y%20z');
  });

  test('Python code reads the shown step, or the last one', () => {
    const options = { roots: [{ name: '', path: '/logs' }], run: 'a "b"', tag: 'x' };
    const code = makeImagePythonCode({ ...options, step: 20 });
    expect(code).toContain('tracklight.open("/logs")');
    expect(code).toContain('log.images("a \\"b\\"", "x")');
    expect(code).toContain('images.at(20)');
    expect(makeImagePythonCode({ ...options, step: null })).toContain('images[-1]');
  });
});

describe('image loader', () => {
  /** Requests are answered by calling `respond`. */
  function makeLatestRequest() {
    const pending: ((succeeds: boolean) => void)[] = [];
    const requests: string[] = [];
    const latest = new LatestRequest<string, string>((request) => {
      requests.push(request);
      return new Promise((resolve, reject) =>
        pending.push((succeeds) =>
          succeeds ? resolve(request.toUpperCase()) : reject(new NetworkError()),
        ),
      );
    });
    const respond = async (succeeds = true): Promise<void> => {
      pending.shift()?.(succeeds);
      await new Promise((resolve) => setTimeout(resolve));
    };
    return { latest, requests, respond };
  }

  test('one request runs at a time, followed by the last one made meanwhile', async () => {
    const { latest, requests, respond } = makeLatestRequest();
    for (const request of ['a', 'b', 'c', 'd']) latest.request(request);
    await respond();
    expect(latest.data).toBe('A');
    await respond();
    expect(latest.data).toBe('D');
    expect(requests).toEqual(['a', 'd']);
  });

  test('data that was set is not replaced by an earlier request', async () => {
    const { latest, respond } = makeLatestRequest();
    latest.request('a');
    latest.set('READY');
    await respond();
    expect(latest.data).toBe('READY');
  });

  test('an error keeps the previous data', async () => {
    const { latest, respond } = makeLatestRequest();
    latest.request('a');
    await respond();
    latest.request('b');
    await respond(false);
    expect(latest.data).toBe('A');
    expect(latest.error?.message).toContain('unreachable');
    latest.request('c');
    await respond();
    expect(latest.error).toBeNull();
  });
});

describe('image settings', () => {
  test('image pairs survive formatting and parsing', () => {
    const pair = [
      { run: 'a,b', step: null, part: 0 },
      { run: 'c', step: 120, part: 3 },
    ] as const;
    expect(imagePairCodec.parse(imagePairCodec.format(pair))).toEqual(pair);
    expect(imagePairCodec.parse(imagePairCodec.format(null))).toBeNull();
  });

  test('invalid values are rejected or completed', () => {
    expect(imagePairCodec.parse('only')).toBeNull();
    expect(imagePairCodec.parse('a,x,-1,b,,y')).toEqual([
      { run: 'a', step: null, part: 0 },
      { run: 'b', step: null, part: 0 },
    ]);
    expect(viewportCodec.parse('0.1,nothing,4')).toEqual(FIT_VIEWPORT);
    expect(viewportCodec.parse('0.1,0.2,-4')).toEqual(FIT_VIEWPORT);
  });

  test('viewports are rounded', () => {
    expect(viewportCodec.format({ x: 1 / 3, y: 0.25, zoom: 8 })).toBe('0.33333,0.25,8');
    expect(viewportCodec.parse('0.33333,0.25,8')).toEqual({ x: 0.33333, y: 0.25, zoom: 8 });
  });
});

describe('image comparison', () => {
  function makeImage(width: number, height: number, pixel: readonly number[]): PixelBuffer {
    const data = new Uint8ClampedArray(width * height * 4);
    for (let at = 0; at < data.length; at += 4) data.set(pixel, at);
    return { data, width, height };
  }

  test('identical images do not differ', () => {
    const gray = makeImage(3, 2, [9, 9, 9, 255]);
    const difference = computeDifference(gray, gray);
    expect(difference).toMatchObject({
      width: 3,
      height: 2,
      max: 0,
      maxAt: null,
      mean: 0,
      changedShare: 0,
    });
    expect([...difference.data.slice(0, 4)]).toEqual([0, 0, 0, 255]);
  });

  test('finds the largest difference and its position', () => {
    const one = makeImage(4, 3, [10, 20, 30, 255]);
    const other = makeImage(4, 3, [10, 20, 30, 255]);
    other.data[(1 * 4 + 2) * 4 + 1] = 220;
    other.data[0] = 13;
    const difference = computeDifference(one, other);
    expect(difference).toMatchObject({ max: 200, maxAt: { x: 2, y: 1 }, changedShare: 2 / 12 });
    expect(difference.mean).toBeCloseTo(203 / 36);
  });

  test('alpha is compared', () => {
    const difference = computeDifference(
      makeImage(1, 1, [0, 0, 0, 255]),
      makeImage(1, 1, [0, 0, 0, 0]),
    );
    expect(difference).toMatchObject({ max: 255, maxAt: { x: 0, y: 0 }, mean: 0, changedShare: 1 });
  });

  test('the common area of images of different sizes is compared', () => {
    const difference = computeDifference(
      makeImage(4, 2, [1, 1, 1, 255]),
      makeImage(2, 4, [3, 1, 1, 255]),
    );
    expect(difference).toMatchObject({ width: 2, height: 2, max: 2, changedShare: 1 });
  });

  test('amplifies the color channels, but not alpha', () => {
    const data = new Uint8ClampedArray([1, 2, 200, 255]);
    expect([...amplify(data, 8)]).toEqual([8, 16, 255, 255]);
  });
});

describe('image geometry', () => {
  const WIDE = { size: { width: 400, height: 300 }, imageSize: { width: 200, height: 50 } };

  test('an image fits and is centered', () => {
    expect(computeTransform(WIDE, FIT_VIEWPORT)).toEqual({ scale: 2, left: 0, top: 100 });
  });

  test('zooming keeps the pixel under the pointer', () => {
    const at = { x: 100, y: 150 };
    const before = getPixelAt(WIDE, FIT_VIEWPORT, at);
    const zoomed = zoomAt(WIDE, FIT_VIEWPORT, at, 8);
    expect(zoomed.zoom).toBe(8);
    expect(getPixelAt(WIDE, zoomed, at)).toEqual(before);
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
    expect(computeTransform(WIDE, back)).toMatchObject({
      left: 400 - 200 * 16,
      top: 300 - 50 * 16,
    });
  });

  test('panning moves the image by the same distance', () => {
    const zoomed = zoomAt(WIDE, FIT_VIEWPORT, { x: 200, y: 150 }, 8);
    const before = computeTransform(WIDE, zoomed);
    const after = computeTransform(WIDE, panBy(WIDE, zoomed, 30, -20));
    expect(after.left - before.left).toBeCloseTo(30);
    expect(after.top - before.top).toBeCloseTo(-20);
  });

  test('there are no pixels beside the image', () => {
    expect(getPixelAt(WIDE, FIT_VIEWPORT, { x: 0, y: 100 })).toEqual({ x: 0, y: 0 });
    expect(getPixelAt(WIDE, FIT_VIEWPORT, { x: 399, y: 199 })).toEqual({ x: 199, y: 49 });
    expect(getPixelAt(WIDE, FIT_VIEWPORT, { x: 10, y: 99 })).toBeNull();
  });

  test('zoomForScale is the inverse of computeTransform', () => {
    expect(computeTransform(WIDE, { ...FIT_VIEWPORT, zoom: zoomForScale(WIDE, 1) }).scale).toBe(1);
  });

  const HUGE = { width: 10_000, height: 10_000 };

  test('the level is the coarsest that is sharp', () => {
    expect(getImageTileLevel(HUGE, 3)).toBe(0);
    expect(getImageTileLevel(HUGE, 1)).toBe(0);
    expect(getImageTileLevel(HUGE, 0.51)).toBe(0);
    expect(getImageTileLevel(HUGE, 0.5)).toBe(1);
    expect(getImageTileLevel(HUGE, 0.1)).toBe(3);
    expect(getImageTileLevel(HUGE, 1e-6)).toBe(5);
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
});
