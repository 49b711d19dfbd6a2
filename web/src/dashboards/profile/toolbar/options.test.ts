import { describe, expect, it } from 'vitest';

import type { CaptureRow } from '../data/answers';
import { nameOf, optionsOf } from './options';

const row = (id: string, run: string, step: number | null): CaptureRow => ({
  id,
  run,
  session: id,
  title: `title of ${id}`,
  kind: 'xplane',
  wall_s: 0,
  step,
  bytes: 10,
  mark: 1,
  hosts: [],
});

const same = (run: string): string => run;

describe('the name of a capture', () => {
  it('is that of its run where there is no other', () =>
    expect(nameOf(row('a', 'conv', 20), [row('a', 'conv', 20)], same)).toBe('conv'));

  it('tells the step where there are several', () => {
    const rows = [row('a', 'conv', 20), row('b', 'conv', 40)];
    expect(rows.map((each) => nameOf(each, rows, same))).toEqual([
      'conv · step 20',
      'conv · step 40',
    ]);
  });

  it('tells the title where steps do not tell them apart', () => {
    const rows = [row('a', 'conv', null), row('b', 'conv', 40), row('c', 'conv', 40)];
    expect(rows.map((each) => nameOf(each, rows, same))).toEqual([
      'conv · title of a',
      'conv · title of b',
      'conv · title of c',
    ]);
  });

  it('is a dot for the log directory itself', () =>
    expect(nameOf(row('a', '', null), [], same)).toBe('.'));
});

it('offers captures by their runs', () => {
  const rows = [row('a', 'one', 1), row('b', 'two', 1), row('c', 'one', 2)];
  const groups = optionsOf(rows, rows[1], same);
  expect(groups.map(({ title, options }) => [title, options.map(({ key }) => key)])).toEqual([
    ['one', ['a', 'c']],
    ['two', ['b']],
  ]);
  expect(groups.flatMap(({ options }) => options).find(({ chosen }) => chosen)?.key).toBe('b');
});
