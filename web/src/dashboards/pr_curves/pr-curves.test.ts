import { expect, test } from 'vitest';

import { QueryCache } from '../../api/query-cache';
import { FakeTransport, settle } from '../../api/query-test-tools';
import type { CurveRow, MeasuresRow, TagRow } from '../../api/schemas';
import type { CardGridSettings } from '../../cards/card-grid.svelte';
import { toCsv, toJson } from '../../cards/export';
import type { VisibleRun } from '../../plugin/context';
import {
  makeCurvesPythonCode,
  findNearestThreshold,
  findNextThreshold,
  formatReading,
  getNearestIndex,
  getReadingColumns,
  getSeriesRun,
  limitReadings,
  makeCurveLines,
  makeCurvesTable,
  makeGuides,
  makeMarker,
  type PrCurve,
  readCurveAt,
} from './pr-curve';
import { buildClassSections, getClassName } from './pr-curves-dashboard.svelte';
import { curveQuery, type CurveRequest } from './query';

/** A curve with three thresholds; at the last, nothing is classified as positive. */
function makeTestCurve(run: string, fields: Partial<CurveRow> = {}): PrCurve {
  const row: CurveRow = {
    run,
    tag: 'pr/cat',
    index: 0,
    fingerprint: 7,
    step: 10,
    wall_time: 1.7e9,
    error: null,
    thresholds: 3,
    has_counts: true,
    measures: {
      average_precision: 0.75,
      area: 0.8,
      roc_area: 0.9,
      best_f1: 0.8,
      best_threshold: 0,
      prevalence: 0.5,
    },
    columns: {
      threshold: Float64Array.of(0, 0.5, 1),
      true_positives: Float32Array.of(2, 1, 0),
      false_positives: Float32Array.of(2, 0, 0),
      true_negatives: Float32Array.of(0, 2, 2),
      false_negatives: Float32Array.of(0, 1, 2),
      precision: Float32Array.of(0.5, 1, NaN),
      recall: Float32Array.of(1, 0.5, 0),
      f1: Float64Array.of(2 / 3, 2 / 3, 0),
      false_positive_rate: Float64Array.of(1, 0, 0),
    },
    ...fields,
  };
  return { id: `${run}\n${row.tag}`, label: run, shortLabel: run, color: '#4269d0', dash: [], row };
}

const curve = makeTestCurve('a');

test('precision is drawn over recall, true over false positives', () => {
  const [pr] = makeCurveLines([curve], 'PR');
  expect([[...(pr?.x ?? [])], [...(pr?.y ?? [])]]).toEqual([
    [1, 0.5, 0],
    [0.5, 1, NaN],
  ]);
  const [roc] = makeCurveLines([curve], 'ROC');
  expect([[...(roc?.x ?? [])], [...(roc?.y ?? [])]]).toEqual([
    [1, 1, 0, 0, 0],
    [1, 1, 0.5, 0, 0],
  ]);
});

test('curves without columns or false positive rate are not drawn', () => {
  const broken = makeTestCurve('b', { columns: null });
  expect(makeCurveLines([broken], 'PR')).toEqual([]);
  const { columns } = curve.row;
  if (!columns) throw new Error('no columns');
  const uncounted = makeTestCurve('c', { columns: { ...columns, false_positive_rate: null } });
  expect(makeCurveLines([uncounted], 'ROC')).toEqual([]);
});

test('a curve is read at its nearest threshold', () => {
  expect(readCurveAt(curve, 0.4)).toMatchObject({ threshold: 0.5, truePositives: 1, precision: 1 });
  expect(readCurveAt(makeTestCurve('c', { has_counts: false }), 0.4)?.truePositives).toBeNaN();
  expect(readCurveAt(makeTestCurve('b', { columns: null }), 0.4)).toBeNull();
});

test('precision is undefined if nothing is classified as positive', () => {
  const reading = readCurveAt(curve, 1);
  expect(reading && makeMarker(reading, 'PR')).toBeNull();
  expect(reading && makeMarker(reading, 'ROC')).toMatchObject({ x: 0, y: 0 });
});

test.each([
  [-1, 0],
  [0.24, 0],
  [0.26, 1],
  [0.9, 2],
  [7, 2],
])('the value nearest to %f has index %i', (value, index) => {
  expect(getNearestIndex(Float64Array.of(0, 0.5, 1), value)).toBe(index);
});

test('the next threshold of any curve is found', () => {
  const { columns } = curve.row;
  if (!columns) throw new Error('no columns');
  const threshold = Float64Array.of(0, 0.6, 1);
  const curves = [curve, makeTestCurve('b', { columns: { ...columns, threshold } })];
  expect(findNextThreshold(curves, 0.5, 1)).toBe(0.6);
  expect(findNextThreshold(curves, 0.5, -1)).toBe(0);
  expect(findNextThreshold(curves, 1, 1)).toBeNull();
});

test('the id of a series contains the run', () => {
  expect(getSeriesRun(curve.id)).toBe('a');
});

const WHOLE = { x: [0, 1], y: [0, 1] } as const;

test('the threshold and the curve of the nearest point are found', () => {
  const curves = [makeTestCurve('a')];
  expect(findNearestThreshold(curves, 'PR', { x: 0.9, y: 0.4 }, WHOLE)).toEqual({
    id: 'a\npr/cat',
    threshold: 0,
  });
  expect(findNearestThreshold(curves, 'PR', { x: 0.1, y: 0.9 }, WHOLE)?.threshold).toBe(0.5);
  expect(findNearestThreshold(curves, 'ROC', { x: 0.1, y: 0.1 }, WHOLE)?.threshold).toBe(1);
});

test('distances are relative to the visible range', () => {
  const flat = { x: [0, 1], y: [0, 100] } as const;
  const position = { x: 0.8, y: 1 };
  expect(findNearestThreshold([makeTestCurve('a')], 'PR', position, WHOLE)?.threshold).toBe(0.5);
  expect(findNearestThreshold([makeTestCurve('a')], 'PR', position, flat)?.threshold).toBe(0);
});

test('without curves, there is no nearest threshold', () => {
  expect(findNearestThreshold([], 'PR', { x: 0, y: 0 }, WHOLE)).toBeNull();
});

function withPrevalence(run: string, prevalence: number | null) {
  const { measures } = makeTestCurve(run).row;
  return makeTestCurve(run, { measures: { ...(measures as MeasuresRow), prevalence } });
}

test('every point of a contour has its F1', () => {
  const contours = makeGuides([], 'PR', true);
  expect(contours.map(({ label }) => label)).toEqual(['F1 0.2', 'F1 0.4', 'F1 0.6', 'F1 0.8']);
  for (const [index, { x, y }] of contours.entries()) {
    x.forEach((recall, point) => {
      const precision = y[point] ?? NaN;
      expect((2 * precision * recall) / (precision + recall)).toBeCloseTo(0.2 * (index + 1), 9);
    });
    expect([Math.max(...x), Math.max(...y)].map((end) => end.toFixed(9))).toEqual([
      '1.000000000',
      '1.000000000',
    ]);
  }
});

test('the chance level is the share of positives, if all curves have the same', () => {
  const labels = (...curves: Parameters<typeof makeGuides>[0]) =>
    makeGuides(curves, 'PR', false).map(({ label }) => label);
  expect(labels(withPrevalence('a', 0.5), withPrevalence('b', 0.501))).toEqual(['Chance level']);
  expect(labels(withPrevalence('a', 0.5), withPrevalence('b', 0.3))).toEqual([]);
  expect(labels(withPrevalence('a', null))).toEqual([]);
  const rocLabels = makeGuides([], 'ROC', true).map(({ label }) => label);
  expect(rocLabels.filter(Boolean)).toEqual(['Chance level']);
});

const readings = ['a', 'b', 'c'].flatMap((run) => readCurveAt(makeTestCurve(run), 0.5) ?? []);

test('readings that fit keep their order', () => {
  expect(limitReadings(readings, 'c\npr/cat', 3)).toEqual({ rows: readings, more: 0 });
});

test('the nearest reading is always shown', () => {
  const { rows, more } = limitReadings(readings, 'c\npr/cat', 2);
  expect(rows.map(({ label }) => label)).toEqual(['c', 'a']);
  expect(more).toBe(1);
});

test('undefined values are dashes', () => {
  const [last] = ['a'].flatMap((run) => readCurveAt(makeTestCurve(run), 1) ?? []);
  if (!last) throw new Error('no reading');
  expect(formatReading(last, getReadingColumns('PR'))).toEqual(['–', '0', '0', '0', '0', '2', '2']);
  expect(formatReading(last, getReadingColumns('ROC'))).toEqual([
    '0',
    '0',
    '0',
    '0',
    '0',
    '2',
    '2',
  ]);
});

function makeRow(tag: string): TagRow {
  const info = { plugin: 'pr_curves', kind: 'tensor', display_name: '', description: '' };
  return { tag, ...info, runs: 1, count: 1, overwritten: 0, first: null, last: null };
}

function makeRun(name: string): VisibleRun {
  return { name, label: name.toUpperCase(), color: '#000', dash: [], group: null };
}

function makeSettings(text: string, pinned: readonly string[] = []): CardGridSettings {
  const filter = { value: { text, isRegex: false } };
  return { filter, pinned: { value: pinned } } as unknown as CardGridSettings;
}

const buildSections = (settings: CardGridSettings) =>
  buildClassSections(
    ['pr/cat', 'pr/dog', 'val/cat'].map(makeRow),
    ['a', 'b'].map(makeRun),
    (run, tag) => run === 'a' || tag !== 'val/cat',
    settings,
  );

test('a run has one card per section, with its tags', () => {
  const sections = buildSections(makeSettings(''));
  expect(sections.map(({ title, cards }) => [title, cards.map((card) => card.title)])).toEqual([
    ['pr', ['A', 'B']],
    ['val', ['A']],
  ]);
  expect(sections[0]?.cards[1]).toMatchObject({ tags: ['pr/cat', 'pr/dog'], run: 'b' });
});

test('filters apply to tags, and cards can be pinned', () => {
  const [first, second] = buildSections(makeSettings('dog', ['pr\nb']));
  expect(first).toMatchObject({ title: 'Pinned', cards: [{ run: 'b' }] });
  expect(second?.cards.map(({ tags }) => tags)).toEqual([['pr/dog'], ['pr/dog']]);
});

test('the class is the part after the prefix', () => {
  expect(['pr/cat', 'pr/a/b', 'plain'].map(getClassName)).toEqual(['cat', 'a/b', 'plain']);
});

const table = makeCurvesTable([makeTestCurve('a,"b"'), makeTestCurve('c', { columns: null })]);

test('the table has one row per threshold', () => {
  const [head, ...rows] = toCsv(table).trimEnd().split('\n');
  expect(head).toBe(
    'run,tag,step,threshold,true_positives,false_positives,true_negatives,false_negatives,' +
      'precision,recall,f1,false_positive_rate',
  );
  expect(rows).toHaveLength(3);
  expect(rows[1]).toBe('"a,""b""",pr/cat,10,0.5,1,0,2,1,1,0.5,0.6666666666666666,0');
});

test('undefined values are empty', () => {
  expect(toCsv(table).trimEnd().split('\n')[3]).toBe('"a,""b""",pr/cat,10,1,0,0,2,2,,0,0,0');
  expect((JSON.parse(toJson(table)) as { precision: number | null }[])[2]?.precision).toBeNull();
});

const ROOTS = [{ name: '', path: '/logs' }];
const SERIES = [
  { run: 'a', tag: 'pr/"x"' },
  { run: 'b', tag: 'pr/"x"' },
];

test('Python code reads every visible curve', () => {
  const code = makeCurvesPythonCode({ roots: ROOTS, series: SERIES, step: null });
  expect(code).toContain('("a", "pr/\\"x\\""),\n    ("b", "pr/\\"x\\""),');
  expect(code).toContain('curves[-1]');
});

test('at a step, Python code reads the last curve up to it', () => {
  expect(makeCurvesPythonCode({ roots: ROOTS, series: SERIES, step: 70 })).toContain(
    '(curves.step <= 70).nonzero()[0][-1]',
  );
});

test('curves at the same step share a request', async () => {
  const transport = new FakeTransport();
  const cache = new QueryCache({ transport });
  const rows = ['a', 'b'].map((run) => makeTestCurve(run).row);
  const makeRequest = (index: number, step: number | null): CurveRequest => {
    const { run = '', tag = '', index: position = 0, fingerprint = 0 } = rows[index] ?? {};
    return { value: { run, tag, index: position, fingerprint }, step };
  };
  const last = [0, 1].map((index) => cache.fetch(curveQuery, makeRequest(index, null)));
  const earlier = cache.fetch(curveQuery, makeRequest(0, 10));
  await settle();
  expect(transport.get(0).body).toMatchObject({ runs: ['a', 'b'], step: null });
  await transport.get(0).respond({ curves: [...rows].reverse() });
  expect(await Promise.all(last)).toEqual(rows);
  expect(transport.get(1).body).toMatchObject({ runs: ['a'], step: 10 });
  // The run has another curve at this step now.
  await transport.get(1).respond({ curves: [] });
  expect(await earlier).toBeNull();
  cache.dispose();
});
