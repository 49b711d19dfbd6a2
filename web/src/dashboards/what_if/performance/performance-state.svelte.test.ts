import { flushSync } from 'svelte';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { createQuery } from '../../../api/create-query.svelte';
import { QueryCache } from '../../../api/query-cache';
import { FakeTransport, settle } from '../../../api/query-test-tools';
import type { OptimizeResponse, PerformanceResponse, SessionInfo } from '../../../api/schemas';
import type { Codec } from '../../../lib/codecs';
import type { Context } from '../../../plugin/context';
import { WhatIfState } from '../what-if-state.svelte';
import { PerformanceState, StagedRows } from './performance-state.svelte';

const SIZE = 101;

function makeInfo(change: Partial<SessionInfo> = {}): SessionInfo {
  const model = { task: 'classification', is_static: false, is_predicted: true, features: [] };
  return {
    ...{ session: 's', title: 'people', version: 1, row_count: 4, active_count: 4, label: 'y' },
    ...{ edit_count: 0, problems: [], path: '', has_distance: false, edits: [], slices: [] },
    columns: [{ name: 'sex', type: 'string', dimensions: null, is_list: false }],
    models: ['a', 'b'].map((name) => ({ ...model, name, class_names: ['no', 'yes'] })),
    ...change,
  } as unknown as SessionInfo;
}

const COLUMN = {
  name: 'sex',
  type: 'string',
  numbers: null,
  codes: new Int32Array(4),
  categories: ['f'],
};
const COUNTS = new Float64Array(2 * SIZE).fill(1);
const PERFORMANCE = {
  slices: ['Overall', 'sex:f'],
  counts: Float64Array.of(4, 4),
  thresholds: Float64Array.from({ length: SIZE }, (_, at) => at / 100),
  ...{ tp: COUNTS, fp: COUNTS, tn: COUNTS, fn: COUNTS },
  ...{ class_names: ['no', 'yes'], metrics: [], edges: {}, label_values: ['no', 'yes'] },
} as unknown as PerformanceResponse;
const CHOICE = {
  ...{ slices: ['sex:f'], thresholds: Float64Array.of(0.3), is_defined: [true] },
  ...{ cost: 1, single_cost: 2, gap: null, measures: {} },
} as unknown as OptimizeResponse;

/** Parameters that are kept in memory. */
function makeParam<Value>(_name: string, _codec: Codec<Value>, fallback: Value) {
  let value = $state.raw(fallback);
  return {
    get value() {
      return value;
    },
    set: (next: Value) => void (value = next),
  };
}

let info = makeInfo();
let transport: FakeTransport;
let board: WhatIfState;
let performance: PerformanceState;
let stop: () => void;

beforeEach(async () => {
  vi.stubGlobal('requestAnimationFrame', () => 1);
  vi.stubGlobal('cancelAnimationFrame', () => undefined);
  info = makeInfo();
  transport = new FakeTransport();
  const queries = new QueryCache({ transport });
  const context = {
    queries,
    query: ((definition, request, options) =>
      createQuery(queries, definition, request, options)) as Context['query'],
    ...{ url: { param: makeParam }, preferences: { param: makeParam } },
    supports: () => false,
  } as unknown as Context;
  stop = $effect.root(() => {
    board = new WhatIfState(context);
    performance = new PerformanceState(board);
  });
  await answer();
  board.settings.sliceBy.set(['sex']);
  await answer();
});

afterEach(() => {
  stop();
  vi.unstubAllGlobals();
});

/** Respond to all requests but those of strategies. */
async function answer(): Promise<void> {
  const responses: Readonly<Record<string, () => unknown>> = {
    'GET what_if/sessions': () => ({ sessions: [info] }),
    'POST what_if/columns': () => ({
      version: info.version,
      rows: new Int32Array(4),
      columns: [COLUMN],
    }),
    'POST what_if/performance': () => PERFORMANCE,
    'POST what_if/edit': () => ({ row: null, problems: [] }),
    'POST what_if/configure': () => info,
  };
  for (let round = 0; round < 4; round++) {
    flushSync();
    await settle();
    for (const { route, respond } of transport.sent) {
      const make = responses[route];
      if (make) await respond(make());
    }
  }
}

async function respondToStrategy(): Promise<void> {
  flushSync();
  await settle();
  await transport.sent.findLast(({ route }) => route === 'POST what_if/optimize')?.respond(CHOICE);
}

async function chooseGroupThresholds(): Promise<void> {
  const done = performance.optimize('group');
  await respondToStrategy();
  await done;
  expect(performance.choice).toEqual(CHOICE);
  expect(board.settings.thresholds.value).toEqual({ a: { 'sex:f': 0.3 } });
}

test.each<readonly [string, () => unknown]>([
  ['model', () => board.selectModel('b')],
  ['columns of the slices', () => board.setSliceColumns([])],
  ['data set', () => board.selectSession('other')],
  ['datapoints', () => board.edit({ kind: 'delete', row: 1 })],
  ['label', () => board.setLabel('other')],
])('a strategy and its result end when the %s change', async (_, change) => {
  await chooseGroupThresholds();
  const done = change();
  await answer();
  await done;
  expect(board.settings.strategy.value).toBe('custom');
  expect(performance.choice).toBeNull();
});

test('the result of a strategy is not that of changed data', async () => {
  await chooseGroupThresholds();
  board.applyInfo((info = makeInfo({ version: 2 })));
  await answer();
  expect(performance.choice).toBeNull();
});

test('thresholds for a model are not given to the model that is chosen meanwhile', async () => {
  const done = performance.optimize('group');
  flushSync();
  await settle();
  board.selectModel('b');
  await respondToStrategy();
  await done;
  expect(board.settings.thresholds.value).toEqual({});
  expect(performance.choice).toBeNull();
});

describe('staged rows', () => {
  interface Row {
    readonly name: string;
    readonly value: number;
  }

  const makeRows = (count: number, value: number): Row[] =>
    Array.from({ length: count }, (_, at) => ({ name: String(at), value }));
  const isFirst = ({ name }: Row): boolean => name === '0';

  let frames: (() => void)[] = [];

  beforeEach(() => {
    frames = [];
    vi.stubGlobal('requestAnimationFrame', (run: () => void) => frames.push(run));
    vi.stubGlobal('cancelAnimationFrame', () => undefined);
  });

  function runFrame(): void {
    const [run] = frames.splice(0, 1);
    run?.();
  }

  function withStaged(check: (staged: StagedRows<Row>) => void): void {
    $effect.root(() => check(new StagedRows<Row>()))();
  }

  const countShown = (staged: StagedRows<Row>, value: number): number =>
    staged.rows.filter((row) => row.value === value).length;

  test('shows a few changed rows in each frame, the urgent one at once', () => {
    withStaged((staged) => {
      staged.show(makeRows(20, 1), isFirst);
      expect(countShown(staged, 1)).toBe(20);
      expect(frames).toHaveLength(0);

      staged.show(makeRows(20, 2), isFirst);
      expect(staged.rows[0]?.value).toBe(2);
      expect(countShown(staged, 2)).toBe(1);
      const counts: number[] = [];
      while (frames.length > 0) {
        runFrame();
        counts.push(countShown(staged, 2));
      }
      expect(counts).toEqual([8, 15, 20, 20]);
      expect(staged.complete.every(({ value }) => value === 2)).toBe(true);
    });
  });

  test('reaches all rows while the rows change in every frame', () => {
    withStaged((staged) => {
      staged.show(makeRows(20, 0), isFirst);
      for (let value = 1; value <= 8; value++) {
        staged.show(makeRows(20, value), isFirst);
        runFrame();
      }
      expect(Math.min(...staged.rows.map(({ value }) => value))).toBeGreaterThan(3);
      expect(staged.complete[0]?.value).toBeGreaterThan(3);
    });
  });

  test('shows other rows at once', () => {
    withStaged((staged) => {
      staged.show(makeRows(20, 1), isFirst);
      const renamed = makeRows(20, 2).map((row) => ({ ...row, name: `new ${row.name}` }));
      staged.show(renamed, isFirst);
      expect(staged.rows).toBe(renamed);
      expect(staged.complete).toBe(renamed);
    });
  });
});
