import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { StagedRows } from './staged-rows.svelte';

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
afterEach(() => vi.unstubAllGlobals());

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
