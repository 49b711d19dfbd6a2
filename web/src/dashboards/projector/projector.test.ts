import { describe, expect, it, test, vi } from 'vitest';

import type { RequestOf, ResponseOf, RouteName } from '../../api/query-definition';
import type { ColumnInfo, StaticEmbedding } from '../../api/schemas';
import { ExportContents, StaticTransport } from '../../api/static/static-transport';
import { makeWireRequest } from '../../api/transport';
import {
  ALPHA,
  categoryColorOf,
  computeColorCodes,
  computeColorNumbers,
  divergingRamp,
  MISSING_COLOR,
  parseHexColor,
  valueRange,
  withAlpha,
} from '../../charts/points/point-scene';
import {
  applyTensorBoardBookmark,
  makeCaptureSettings,
  restoreSettings,
  toOrbit,
} from './bookmarks.svelte';
import { chooseZoom, listTiles, type PlaneView, TileCache } from './canvas/density-tiles';
import {
  applyFilter,
  canFilter,
  countRanges,
  countValues,
  formatColumnNumber,
  isColumnFilters,
  isFilteredByRange,
  LabelColumn,
  computePointSizes,
  sortRowsBy,
} from './label-columns';
import { createProjectorParams } from './projector-params';
import {
  combineMask,
  countRows,
  createMask,
  decodeMask,
  encodeMask,
  formatRowRanges,
  invertMask,
  listRows,
  parseRowRanges,
} from './row-mask';
import { projectorHandlers } from './static-projector';

describe('label columns', () => {
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
  const numbers = Float32Array.from([0, 5, 10, NaN]);

  test('decodes labels by row or by value', () => {
    const own = { name: 'word', kind: 'text', numbers: null, codes: null } as const;
    const words = new LabelColumn({
      ...own,
      text: bytes('köndog'),
      ends: Int32Array.from([4, 4, 7]),
    });
    expect([words.textAt(0), words.textAt(1), words.textAt(2), words.textAt(9)]).toEqual([
      'kön',
      '',
      'dog',
      '',
    ]);
    const codes = Int32Array.from([1, 0, -1]);
    const shared = new LabelColumn({
      ...own,
      codes,
      text: bytes('ab'),
      ends: Int32Array.from([1, 2]),
    });
    expect([shared.textAt(0), shared.textAt(1), shared.textAt(2)]).toEqual(['b', 'a', '']);
    expect(shared.distinctCount).toBe(2);
  });

  test('colors numbers from one end of the ramp to the other and missing ones gray', () => {
    const rgba = computeColorNumbers(numbers, divergingRamp, [0, 10]);
    const at = (row: number) => [...rgba.subarray(4 * row, 4 * row + 3)];
    expect(at(0)).toEqual([...parseHexColor('#2f6fd0')]);
    expect(at(2)).toEqual([...parseHexColor('#d0482f')]);
    expect(at(3)).toEqual([...parseHexColor(MISSING_COLOR)]);
  });

  test('repeats colors if there are more values', () => {
    const rgba = computeColorCodes(Int32Array.from([0, 24, -1]));
    expect([...rgba.subarray(0, 3)]).toEqual([...rgba.subarray(4, 7)]);
    expect([...rgba.subarray(8, 11)]).toEqual([...parseHexColor(MISSING_COLOR)]);
    expect(categoryColorOf(0)).toBe(categoryColorOf(24));
  });

  test('a diverging scale has zero in the middle', () => {
    expect(valueRange(Float32Array.from([-1, 4]), true)).toEqual([-4, 4]);
    expect(valueRange(Float32Array.from([-1, 4]), false)).toEqual([-1, 4]);
    expect(valueRange(Float32Array.from([1, 4]), true)).toEqual([1, 4]);
    expect(valueRange(Float32Array.from([NaN]), true)).toEqual([0, 1]);
  });

  test('the area of a point is proportional to its number', () => {
    const own = { name: 'n', kind: 'number', codes: null, text: bytes(''), ends: new Int32Array() };
    const sizes = computePointSizes(new LabelColumn({ ...own, kind: 'number', numbers }));
    expect([...(sizes ?? [])]).toEqual([0, 180, 255, 0]);
  });

  test('opacity depends on visibility and highlighting', () => {
    const rgba = computeColorCodes(Int32Array.from([0, 1]));
    const alphaOf = (visible: number[], highlighted: number[] | null) => {
      const masks = [
        Uint8Array.from(visible),
        highlighted && Uint8Array.from(highlighted),
      ] as const;
      const result = withAlpha(rgba, ...masks);
      return [result[3], result[7]];
    };
    expect(alphaOf([0, 1], null)).toEqual([ALPHA.hidden, ALPHA.normal]);
    expect(alphaOf([1, 1], [0, 1])).toEqual([ALPHA.dimmed, ALPHA.highlighted]);
  });

  function makeColumn(name: string, texts: readonly string[], isCoded = false): LabelColumn {
    const distinct = isCoded ? [...new Set(texts)] : texts;
    const encoded = distinct.map((text) => new TextEncoder().encode(text));
    let end = 0;
    const ends = Int32Array.from(encoded, ({ length }) => (end += length));
    const text = new Uint8Array(end);
    encoded.forEach((bytes, index) => text.set(bytes, index === 0 ? 0 : ends[index - 1]));
    const isNumber = texts.every((cell) => cell === '' || !Number.isNaN(Number(cell)));
    return new LabelColumn({
      ...{ name, kind: isNumber ? 'number' : 'text', text, ends },
      numbers: isNumber
        ? Float32Array.from(texts, (cell) => (cell === '' ? NaN : Number(cell)))
        : null,
      codes: isCoded ? Int32Array.from(texts, (cell) => distinct.indexOf(cell)) : null,
    });
  }

  const info = (part: Partial<ColumnInfo>): ColumnInfo => ({
    ...{ name: 'a', kind: 'text', distinct: 2, missing: 0, min: null, max: null, values: [] },
    ...part,
  });

  const sizes = makeColumn('size', ['3', '', '10', '1', '10']);
  const kinds = makeColumn('kind', ['b', 'a', 'b', '', 'b'], true);
  const all = (): Uint8Array => new Uint8Array(5).fill(1);

  test('filters by range leave out rows without a number', () => {
    const mask = all();
    applyFilter(mask, sizes, { range: [2, 10] });
    expect([...mask]).toEqual([1, 0, 1, 0, 1]);
  });

  test('filters by value work with and without codes, and with empty values', () => {
    const mask = all();
    applyFilter(mask, kinds, { values: ['a', ''] });
    expect([...mask]).toEqual([0, 1, 0, 1, 0]);
    const names = all();
    applyFilter(names, makeColumn('name', ['x', 'y', 'z', 'u', 'v']), { values: ['y'] });
    expect([...names]).toEqual([0, 1, 0, 0, 0]);
  });

  test('histograms count the rows of a mask', () => {
    const bars = countRanges(info({ kind: 'number', min: 1, max: 10 }), sizes, null);
    expect(bars[0]).toMatchObject({ low: 1, count: 1 });
    expect(bars.at(-1)).toMatchObject({ high: 10, count: 2 });
    expect(bars.reduce((sum, { count }) => sum + count, 0)).toBe(4);
    const values = [
      { text: 'b', count: 3 },
      { text: 'a', count: 1 },
    ];
    const mask = Uint8Array.from([1, 1, 0, 1, 0]);
    const counted = countValues(info({ values }), kinds, mask, 10);
    expect(counted.map(({ text, count }) => [text, count])).toEqual([
      ['b', 1],
      ['a', 1],
    ]);
  });

  test('numbers with few values are filtered by value', () => {
    const values = [
      { text: '0', count: 3 },
      { text: '1', count: 3 },
    ];
    const labels = info({ kind: 'number', min: 0, max: 1, values });
    expect([isFilteredByRange(labels), canFilter(labels)]).toEqual([false, true]);
    expect(isFilteredByRange(info({ kind: 'number', min: 0, max: 1, distinct: 99 }))).toBe(true);
    expect(canFilter(info({ distinct: 99 }))).toBe(false);
  });

  test('sorts rows by number or in natural order, those without a value last', () => {
    const rows = Int32Array.from([0, 1, 2, 3, 4]);
    expect([...sortRowsBy(rows, sizes, false)]).toEqual([3, 0, 2, 4, 1]);
    expect([...sortRowsBy(rows, sizes, true)]).toEqual([2, 4, 0, 3, 1]);
    expect([...sortRowsBy(rows, kinds, false)]).toEqual([1, 0, 2, 4, 3]);
    const names = makeColumn('name', ['p10', 'p9', 'p1', 'q', 'p9']);
    expect([...sortRowsBy(rows, names, false)]).toEqual([2, 1, 4, 0, 3]);
    expect([...sortRowsBy(rows, null, true)]).toEqual([4, 3, 2, 1, 0]);
  });

  test('rejects filters of another form', () => {
    expect(isColumnFilters({ a: { range: [0, 1] }, b: { values: ['x'] } })).toBe(true);
    for (const value of [null, [], { a: 1 }, { a: { range: [0] } }, { a: { values: [1] } }])
      expect(isColumnFilters(value)).toBe(false);
  });

  test('does not group the digits of years and ids', () => {
    expect([1990, -20731, 12345678, 0].map(formatColumnNumber)).toEqual([
      '1990',
      '−20731',
      '12345678',
      '0',
    ]);
    expect([0.123456, 1991.25].map(formatColumnNumber)).toEqual(['0.1235', '1991.3']);
  });
});

describe('row mask', () => {
  test('converts rows to a mask and back', () => {
    const mask = createMask(6, [1, 4, 9, -1]);
    expect([...mask]).toEqual([0, 1, 0, 0, 1, 0]);
    expect([...listRows(mask)]).toEqual([1, 4]);
    expect(countRows(mask)).toBe(2);
  });

  test('replaces, adds, removes or toggles rows', () => {
    const mask = createMask(5, [0, 1]);
    const after = (mode: Parameters<typeof combineMask>[3]) => [
      ...listRows(combineMask(mask, [1, 2], 5, mode)),
    ];
    expect(after('replace')).toEqual([1, 2]);
    expect(after('add')).toEqual([0, 1, 2]);
    expect(after('remove')).toEqual([0]);
    expect(after('toggle')).toEqual([0, 2]);
    expect([...listRows(combineMask(null, [1], 5, 'remove'))]).toEqual([]);
  });

  test('inverting does not select hidden rows', () => {
    expect([...invertMask(createMask(4, [0]), createMask(4, [0, 1, 2]))]).toEqual([0, 1, 1, 0]);
    expect([...invertMask(createMask(3, [0]), null)]).toEqual([0, 1, 1]);
  });

  test('encodes a mask as bits and decodes it', () => {
    expect(encodeMask(null)).toBeNull();
    expect(encodeMask(createMask(10, [0, 9]))).toBe(btoa('\x01\x02'));
    const mask = createMask(20_001, [0, 7, 8, 20_000]);
    expect(decodeMask(encodeMask(mask) ?? '', 20_001)).toEqual(mask);
  });

  test('formats consecutive rows as ranges', () => {
    expect(formatRowRanges([1, 2, 3, 7])).toBe('1-3,7');
    const parse = (text: string): number[] => [...listRows(parseRowRanges(text, 9))];
    expect(parse('1-3,7')).toEqual([1, 2, 3, 7]);
    expect(parse('')).toEqual([]);
    expect(parse('x,5,-2,3-1,8-20')).toEqual([5, 8]);
    // Millions of points can be selected at once.
    expect(countRows(parseRowRanges('0-2999999', 3_000_000))).toBe(3_000_000);
  });
});

describe('bookmarks', () => {
  describe('the camera of a TensorBoard bookmark', () => {
    it('keeps its direction and distance', () => {
      const start = { orthographic: false, position: [0.45, 0.9, 1.6], target: [0, 0, 0], zoom: 1 };
      const orbit = toOrbit(start as never);
      expect(orbit.zoom).toBeCloseTo(1);
      expect(orbit.yaw).toBeCloseTo(Math.atan2(0.45, 1.6));
      expect(orbit.pitch).toBeCloseTo(Math.asin(0.9 / Math.hypot(0.45, 0.9, 1.6)));
      const close = { ...start, position: [0.225, 0.45, 0.8] };
      expect(toOrbit(close as never)).toMatchObject({ yaw: orbit.yaw, zoom: 2 * orbit.zoom });
    });

    it('keeps its target and zoom in 2D', () => {
      const flat = { orthographic: true, position: [0.5, 0, 4], target: [0.5, 0, 0], zoom: 3 };
      expect(toOrbit(flat as never)).toEqual({ yaw: 0, pitch: 0, zoom: 3, target: [0.5, 0, 0] });
    });

    it('is finite even if its position is its target', () => {
      const odd = { orthographic: false, position: [1, 1, 1], target: [1, 1, 1], zoom: 1 };
      expect(
        Object.values(toOrbit(odd as never))
          .flat()
          .every(Number.isFinite),
      ).toBe(true);
    });
  });

  /** Params that keep their values in memory. */
  function createParams() {
    const param = <Value>(_name: string, _codec: unknown, fallback: Value) => {
      const stored = { value: fallback, set: (value: Value) => void (stored.value = value) };
      return stored;
    };
    vi.stubGlobal('innerWidth', 1440);
    return createProjectorParams({ url: { param }, preferences: { param } } as never);
  }

  describe('the projection of a TensorBoard bookmark', () => {
    it('keeps the parameters that are 0 because nothing was computed', () => {
      const bookmark = {
        ...{ selectedProjection: 'pca', pcaComponentDimensions: [0, 1], selectedLabelOption: null },
        ...{ tSNEPerplexity: 0, umapNeighbors: 0, umapMinDist: null, cameraDef: null },
        ...{ selectedColorOptionName: null, forceCategoricalColoring: false },
      };
      const params = createParams();
      const [perplexity, neighbors] = [params.perplexity.value, params.neighbors.value];
      applyTensorBoardBookmark(bookmark as never, params);
      expect([params.perplexity.value, params.neighbors.value]).toEqual([perplexity, neighbors]);
      applyTensorBoardBookmark({ ...bookmark, tSNEPerplexity: 12 } as never, params);
      expect(params.perplexity.value).toBe(12);
    });
  });

  describe('the settings of a saved view', () => {
    it('are stored by the names of URL parameters', () => {
      const params = createParams();
      params.colorBy.set('side');
      params.embedding.set('a');
      const settings = makeCaptureSettings(params);
      expect(settings).toMatchObject({ 'color-by': 'side', 'neighbor-count': 20 });
      expect(settings).not.toHaveProperty('embedding');
      const restored = createParams();
      restoreSettings(settings, restored);
      expect(restored.colorBy.value).toBe('side');
    });

    it('ignores unknown settings and those of another embedding', () => {
      const params = createParams();
      restoreSettings({ unknown: 1, embedding: 'a', 'neighbor-count': 7 }, params);
      expect([params.neighborCount.value, params.embedding.value]).toEqual([7, '']);
    });
  });
});

describe('density tiles', () => {
  const view: PlaneView = { width: 800, height: 600, pxPerUnit: 200, center: { x: 0, y: 0 } };

  test('chooses tiles of about the resolution of the screen', () => {
    expect(chooseZoom(view, 2, 20)).toBe(2);
    expect(chooseZoom({ ...view, pxPerUnit: 400 }, 2, 20)).toBe(3);
    expect(chooseZoom({ ...view, pxPerUnit: 1 }, 2, 20)).toBe(0);
    expect(chooseZoom({ ...view, pxPerUnit: 1e9 }, 2, 20)).toBe(20);
  });

  test('lists the visible tiles, the central ones first, and those around them', () => {
    const { needed, spare } = listTiles({ ...view, center: { x: 0.5, y: 0.5 } }, 4, 20);
    const zoom = chooseZoom(view, 4, 20);
    const side = 8 / 2 ** zoom;
    for (const { x, y } of needed) {
      const [left, top] = [-4 + x * side, 4 - y * side];
      expect(left).toBeLessThanOrEqual(2.5);
      expect(left + side).toBeGreaterThanOrEqual(-1.5);
      expect(top).toBeGreaterThanOrEqual(-1);
      expect(top - side).toBeLessThanOrEqual(2);
    }
    const keys = new Set([...needed, ...spare].map(({ x, y }) => `${x}/${y}`));
    expect(keys.size).toBe(needed.length + spare.length);
    const [first] = needed;
    expect(Math.abs(-4 + ((first?.x ?? 0) + 0.5) * side - 0.5)).toBeLessThanOrEqual(side);
  });

  test('lists no tiles beside the layout', () => {
    expect(listTiles({ ...view, center: { x: 100, y: 0 } }, 2, 20).needed).toEqual([]);
  });

  test('a tile is loaded once, and again after an error', () => {
    const cache = new TileCache();
    const id = { zoom: 1, x: 0, y: 1 };
    expect([cache.reserve(id), cache.reserve(id)]).toEqual([true, false]);
    cache.release(id);
    expect(cache.reserve(id)).toBe(true);
    expect(cache.find(id)).toBeNull();
  });
});

describe('static projector', () => {
  const words = ['cat', 'dog', 'tree'];
  const embedding = {
    info: { id: 'a', rows: 3, dimensions: 2 },
    columns: [
      {
        ...{ name: 'word', kind: 'text' as const, numbers: null, codes: null },
        text: new TextEncoder().encode(words.join('')),
        ends: Int32Array.from([3, 6, 10]),
      },
    ],
    layouts: [
      {
        method: { type: 'pca' },
        rows: null,
        coordinates: [0, 1, 2].map((axis) => Float32Array.of(axis, axis, axis)),
        explained_ratio: [0.7, 0.2, 0.1],
      },
    ],
    vectors: Float32Array.of(1, 0, 2, 0, 0, 3),
  } as unknown as StaticEmbedding;

  const contents = new ExportContents({
    head: { created: 0, responses: {} },
    ...{ packed: {}, files: {} },
  } as never);
  contents.read = () => Promise.resolve(embedding);
  const transport = new StaticTransport(contents, projectorHandlers);
  const reference = { id: 'a', index: 0, mark: 'm' };

  async function send<Name extends RouteName>(
    route: Name,
    request: RequestOf<Name>,
  ): Promise<ResponseOf<Name>> {
    const wire = makeWireRequest(route, request);
    return (await transport.send(wire)) as ResponseOf<Name>;
  }

  test('a layout in the export is done at once, along the requested axes', async () => {
    const { job, state } = await send('POST projector/project', {
      ...reference,
      method: { type: 'pca' },
      rows: null,
    });
    expect(state).toBe('done');
    const { coordinates } = await send('GET projector/layout', { job, axes: [2, 0] });
    expect(coordinates.map((axis) => axis[0])).toEqual([2, 0]);
  });

  test('other layouts are reported as missing', async () => {
    const tsne = { type: 'tsne', dimensions: 2 } as const;
    await expect(
      send('POST projector/project', { ...reference, method: tsne, rows: null }),
    ).rejects.toThrow('Not included');
    await expect(send('POST projector/project', { ...reference, rows: 'AQ==' })).rejects.toThrow(
      'Not included',
    );
    await expect(send('GET projector/quality', { job: 'a pca' })).rejects.toThrow('Not included');
  });

  test('searches labels and describes points', async () => {
    const search = async (query: string, regex: boolean) => {
      const request = { ...reference, query, regex, column: null };
      return [...(await send('POST projector/search', request)).rows];
    };
    expect(await search('D', false)).toEqual([1]);
    expect(await search('^(cat|tree)$', true)).toEqual([0, 2]);
    await expect(search('(', true)).rejects.toThrow('Invalid regular expression');
    const point = await send('GET projector/point', { ...reference, row: 2 });
    expect(point).toMatchObject({ cells: [{ name: 'word', text: 'tree' }], length: 3 });
  });

  test.each(['euclidean', 'cosine', 'dot'] as const)('finds neighbors by %s', async (metric) => {
    const request = { ...reference, row: 0, metric, count: 5 };
    expect([...(await send('POST projector/neighbors', request)).rows]).toEqual([1, 2]);
  });
});
