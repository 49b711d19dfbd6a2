import { describe, expect, test } from 'vitest';

import { QueryCache } from '../api/query-cache';
import { FakeTransport, settle } from '../api/query-test-tools';
import type { ChartsRequest } from '../api/schemas';
import { withCardValue } from '../cards/card-grid.svelte';
import type { Line } from '../charts/types';
import { sortRows } from '../components/data-table';
import { chartQuery, makeChartRequest, nearestPointsQuery, needsOtherPoints } from './query';
import type { ChartRow } from '../api/query-definition';
import type { ChartsView } from '../cards/card-sections';
import { pythonSnippet } from './scalar-actions';
import {
  axisRangesCodec,
  displaysCodec,
  type LineMode,
  setLineMode,
  xAxisCodec,
  zoomsCodec,
} from './scalar-settings';
import { limitRows, tooltipRows, withoutSharedFolder } from './tooltip-rows';
import { makePointsTable, makeRangeTable } from './value-table';

describe('query', () => {
  const VIEW: ChartsView = {
    runs: null,
    x: 'step',
    smoothing: null,
    overwritten: false,
    baseline: null,
    groups: null,
    center: 'mean',
    band: 'std',
    min_runs: 1,
  };

  function open() {
    const transport = new FakeTransport();
    const cache = new QueryCache({ transport });
    const fetch = (tag: string, width = 340, runs = 1) =>
      cache.fetch(chartQuery, makeChartRequest(VIEW, runs, [tag], width, null));
    const sent = (at: number): string => {
      const { charts, width } = transport.get(at).body as ChartsRequest;
      return `${charts.map(({ tags }) => tags.join()).join()} ${width}`;
    };
    const respond = async (at: number): Promise<void> => {
      const { charts } = transport.get(at).body as ChartsRequest;
      await transport.get(at).respond({ charts: charts.map(({ id }) => ({ id, error: null })) });
      await settle();
    };
    return { transport, cache, fetch, sent, respond };
  }

  test('only changed lines of a chart are requested again', async () => {
    const { transport, cache, fetch } = open();
    const makeLine = (run: string, value: number) => ({
      run,
      tag: 'loss',
      x: Float64Array.of(0),
      y: Float64Array.of(value),
      raw: null,
      low: null,
      high: null,
    });
    const makeChart = (revision: string, base: string | null, lines: unknown[]) => ({
      charts: [{ id: '0', error: null, revision, base, lines }],
    });
    const bases = () => (transport.get().body as ChartsRequest).charts.map(({ base }) => base);
    const first = fetch('loss');
    await settle();
    expect(bases()).toEqual([undefined]);
    await transport.get().respond(makeChart('r1', null, [makeLine('a', 1), makeLine('b', 2)]));
    const before: ChartRow = await first;
    cache.revisions.markRuns(['b']);
    const second = fetch('loss');
    await settle();
    expect(bases()).toEqual(['r1']);
    await transport.get().respond(makeChart('r2', 'r1', [makeLine('b', 3)]));
    const after = await second;
    expect(after.lines[0]).toBe(before.lines[0]);
    expect(after.lines.map(({ run, y }) => [run, ...y])).toEqual([
      ['a', 1],
      ['b', 3],
    ]);
    cache.revisions.markRuns(['a']);
    const third = fetch('loss');
    await settle();
    expect(bases()).toEqual(['r2']);
    await transport.get().respond(makeChart('r3', null, [makeLine('c', 4)]));
    expect((await third).lines.map(({ run }) => run)).toEqual(['c']);
  });

  test('charts of about the same width share a request', async () => {
    const { cache, fetch, sent, respond } = open();
    void [fetch('a'), fetch('b', 301), fetch('c', 1000), fetch('a')];
    await settle();
    expect(sent(0)).toBe('a,b 400');
    await respond(0);
    expect(sent(1)).toBe('c 1000');
    await respond(1);
    cache.dispose();
  });

  test('the first request has few lines, later ones more', async () => {
    const { cache, fetch, sent, respond } = open();
    for (const tag of 'abcdef') void fetch(tag, 340, 20);
    await settle();
    expect(sent(0)).toBe('a,b 400');
    await respond(0);
    expect(sent(1)).toBe('c,d,e,f 400');
    await respond(1);
    cache.dispose();
  });

  test('a part is requested with a margin, and as many columns for what is visible', () => {
    const { width, chart } = makeChartRequest(VIEW, 1, ['a'], 400, [100, 200]);
    expect(width).toBe(600);
    expect(chart).toEqual({ tags: ['a'], start: 75, stop: 225 });
  });

  test('a response in flight is only useful for other smoothing', () => {
    const smoother = { ...VIEW, smoothing: { kind: 'ema', amount: 0.6 } } as const;
    expect(needsOtherPoints(VIEW, smoother)).toBe(false);
    expect(needsOtherPoints(VIEW, { ...VIEW, x: 'wall' })).toBe(true);
  });

  test('an error of one chart does not affect the others', async () => {
    const { transport, cache, fetch } = open();
    const [good, bad] = [fetch('a'), fetch('b')];
    await settle();
    const error = { message: 'The baseline has no "b".', hint: '' };
    await Promise.all([
      expect(good).resolves.toMatchObject({ id: '0' }),
      expect(bad).rejects.toMatchObject({ problem: error }),
      transport.get().respond({
        charts: [
          { id: '0', error: null },
          { id: '1', error },
        ],
      }),
    ]);
    cache.dispose();
  });

  test('tables of several tags share a request', async () => {
    const { transport, cache } = open();
    const view = { runs: null, x: 'step', smoothing: null, baseline: null, x_value: 7 };
    const rows = ['a', 'b'].map((tag) => cache.fetch(nearestPointsQuery, { view, tag }));
    await settle();
    expect(transport.get().body).toEqual({ ...view, tags: ['a', 'b'] });
    await transport.get().respond({ rows: [{ tag: 'b', step: 7 }] });
    expect(await Promise.all(rows)).toEqual([[], [{ tag: 'b', step: 7 }]]);
    cache.dispose();
  });
});

describe('scalar actions', () => {
  test('the code opens one directory by its path', () => {
    const code = pythonSnippet({
      roots: [{ name: '', path: '/logs "a"' }],
      runs: null,
      tags: ['loss'],
    });
    expect(code).toContain('tracklight.open("/logs \\"a\\"")');
    expect(code).toContain('tag=["loss"]');
    expect(code).not.toContain('run=');
  });

  test('the code opens several directories by name', () => {
    const roots = [
      { name: 'old', path: '/a' },
      { name: 'new', path: '/b' },
    ];
    const code = pythonSnippet({ roots, runs: ['old/x', 'new/y'], tags: ['loss', 'acc'] });
    expect(code).toContain('tracklight.open({"old": "/a", "new": "/b"})');
    expect(code).toContain('run=["old/x", "new/y"]');
  });
});

describe('scalar settings', () => {
  test('an unknown axis falls back to steps', () => {
    expect(xAxisCodec.parse('wall')).toBe('wall');
    expect(xAxisCodec.parse('metric:epoch')).toBe('metric:epoch');
    expect(xAxisCodec.parse('unknown')).toBe('step');
  });

  test('axis ranges are encoded as a flat list', () => {
    const ends = {
      x: { low: 0, high: 100 },
      y: { low: null, high: 2.5 },
      y2: { low: null, high: null },
    };
    const map = withCardValue(new Map(), 'train/loss', ends);
    expect(axisRangesCodec.format(map)).toBe('train/loss,0,100,,2.5,,');
    expect(axisRangesCodec.parse('train/loss,0,100,,2.5,,')).toEqual(map);
  });

  test('invalid values are skipped', () => {
    expect(zoomsCodec.parse('a,1,2,3,4,,,b,1,2,x,4,,,c,1')).toEqual(
      new Map([['a', { x: [1, 2], y: [3, 4] }]]),
    );
    expect(displaysCodec.parse('a,table,b,list,c,bars')).toEqual(
      new Map([
        ['a', 'table'],
        ['c', 'bars'],
      ]),
    );
  });

  function chooseBaseline(names: string[], charts: string[][], baseline: string | null = null) {
    let chosen = baseline;
    const mode = { value: 'lines' as LineMode, set: () => undefined };
    const visible = names.map((name) => ({ name, label: name, color: '', dash: [], group: null }));
    const runs = { visible, baseline, setBaseline: (name: string | null) => void (chosen = name) };
    const inCharts = charts.map((runs) => new Set(runs));
    setLineMode('baseline', { mode }, runs, inCharts);
    return chosen;
  }

  test('the first baseline is a run of the charts', () => {
    expect(chooseBaseline(['a/profile', 'a/train', 'b'], [['a/train', 'b'], ['b']])).toBe('b');
    expect(chooseBaseline(['a', 'b'], [['a', 'b']])).toBe('a');
    expect(chooseBaseline(['a', 'b'], [])).toBe('a');
    // Tags that no other run has compare nothing.
    expect(chooseBaseline(['a', 'b', 'c', 'd'], [['a'], ['a'], ['b', 'c', 'd']])).toBe('b');
    expect(chooseBaseline(['a', 'b'], [['b']], 'a')).toBe('a');
  });
});

describe('tooltip rows', () => {
  const line = (id: string, x: number[], y: number[], raw?: number[]): Line => ({
    id,
    label: id,
    color: '#000000',
    dash: [],
    axis: 0,
    x: Float64Array.from(x),
    y: Float64Array.from(y),
    ...(raw ? { raw: Float64Array.from(raw) } : {}),
  });

  const LINES = [
    line('a', [0, 10, 20], [1, 2, 3], [1, 4, 9]),
    line('b', [0, 10, 20], [7, 5, 3], [7, 6, 5]),
    line('early', [0, 1, 2], [0, 0, 0], [0, 0, 0]),
  ];

  test('values are those of the drawn line until the logged points are loaded', () => {
    const [drawn] = tooltipRows(LINES, [], { x: 11, y: null, isSmooth: true, exact: [] });
    expect([drawn?.x, drawn?.smoothed, drawn?.value, drawn?.step]).toEqual([10, 2, 4, null]);
    const exact = { run: 'a', tag: '', step: 11, wall_time: 5, relative_s: 2, x: 11 };
    const lines = [line('a\n', [0, 10, 20], [1, 2, 3], [1, 4, 9])];
    const rows = [{ ...exact, value: 4.5, smoothed: 2.25 }];
    const [known] = tooltipRows(lines, [], { x: 11, y: null, isSmooth: true, exact: rows });
    expect([known?.x, known?.smoothed, known?.value, known?.step]).toEqual([11, 2.25, 4.5, 11]);
  });

  test('without smoothing the value is that of the line', () => {
    const [row] = tooltipRows(LINES, [], { x: 10, y: null, isSmooth: false, exact: [] });
    expect([row?.smoothed, row?.value]).toEqual([null, 2]);
  });

  test('rows are sorted, with lines that ended before the cursor last', () => {
    const rows = tooltipRows(LINES, [], { x: 10, y: 4.5, isSmooth: true, exact: [] });
    const order = (by: Parameters<typeof limitRows>[1]): string[] =>
      limitRows(rows, by, { y: 4.5, nearest: null }, 5).rows.map(({ id }) => id);
    expect(order('ascending')).toEqual(['a', 'b', 'early']);
    expect(order('descending')).toEqual(['b', 'a', 'early']);
    expect(order('nearest')).toEqual(['b', 'a', 'early']);
    expect(order('name')).toEqual(['a', 'b', 'early']);
  });

  test('rows beyond the limit are counted', () => {
    const rows = tooltipRows(LINES, [], { x: 10, y: null, isSmooth: true, exact: [] });
    const { rows: first, more } = limitRows(rows, 'name', { y: null, nearest: null }, 2);
    expect([first.length, more]).toEqual([2, 1]);
  });

  test.each([
    [
      ['sweep/a/train', 'sweep/b/train'],
      ['a/train', 'b/train'],
    ],
    [
      ['sweep/a', 'other'],
      ['sweep/a', 'other'],
    ],
    [
      ['a/b/c', 'a/bc/d'],
      ['b/c', 'bc/d'],
    ],
    [['sweep/only'], ['sweep/only']],
    [[], []],
  ])('the shared folder is removed: %j become %j', (labels, short) => {
    expect([...withoutSharedFolder(labels).values()]).toEqual(short);
  });
});

describe('value table', () => {
  const line = (id: string): Line => ({
    id: `${id}\nloss`,
    label: id,
    color: '',
    dash: [],
    axis: 0,
    x: new Float64Array(0),
    y: new Float64Array(0),
  });
  const point = (run: string, value: number | 'NaN') => ({
    ...{ run, tag: 'loss', step: 7, wall_time: 60, relative_s: 5, x: 7 },
    ...{ value, smoothed: value },
  });

  test('a line without a point has no row', () => {
    const { rows } = makePointsTable('Last values', [line('a'), line('b')], [point('b', 2)]);
    expect(rows.map(({ label }) => label)).toEqual(['b']);
    expect(rows[0]?.cells['value']?.text).toBe('2');
    expect(rows[0]?.cells['smoothed']?.text).toBe('2');
  });

  test('rows are sorted by value with NaN last, or by the order of the runs', () => {
    const points = [point('a', 2), point('b', 'NaN'), point('c', 1)];
    const { rows, columns } = makePointsTable('', [line('a'), line('b'), line('c')], points);
    const sort = (key: string, descending: boolean): string[] =>
      sortRows(rows, columns, { key, descending }).map(({ label }) => label);
    expect(sort('value', false)).toEqual(['c', 'a', 'b']);
    expect(sort('value', true)).toEqual(['a', 'c', 'b']);
    expect(sort('run', true)).toEqual(['c', 'b', 'a']);
    expect(sort('mean', false)).toEqual(['a', 'b', 'c']);
  });

  test('the change over a range is also shown in percent', () => {
    const row = {
      ...{ run: 'a', tag: 'loss', start: null, stop: null, min: null, max: null },
      ...{ change: -1, change_ratio: -0.5, mean: 1, count: 3 },
    };
    const { rows } = makeRangeTable('', [line('a')], [row]);
    expect(rows[0]?.cells['change_percent']?.text).toBe('−50%');
  });
});
