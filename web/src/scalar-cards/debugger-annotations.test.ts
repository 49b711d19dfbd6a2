import { describe, expect, it } from 'vitest';

import { makeDebuggerAnnotations } from './debugger-annotations';

describe('makeDebuggerAnnotations', () => {
  const rows = [
    { name: 'a', run: 'a', problem_step: 97, problem_time: 1050 },
    { name: 'b', run: 'b', problem_step: null, problem_time: null },
    { name: 'c', run: 'c', problem_step: 5, problem_time: 1010 },
  ];
  const makeLine = (run: string) => ({ run, start: 1000, end: 1100 });

  it('marks the runs on the chart that have a problem', () => {
    expect(makeDebuggerAnnotations(rows, [makeLine('a'), makeLine('b')], 'step')).toEqual([
      { id: 'debugger a', x: 97, text: 'Problem in a' },
    ]);
  });

  it('marks problems on axes of time', () => {
    const getX = (axis: 'wall' | 'relative') =>
      makeDebuggerAnnotations(rows, [makeLine('a')], axis).map(({ x }) => x);
    expect(getX('wall')).toEqual([1050]);
    expect(getX('relative')).toEqual([50]);
  });

  it('marks a dump on runs of the same program', () => {
    const dump = { name: 'fit', run: 'fit', problem_step: null, problem_time: 1050 };
    const getMarks = (run: string, source = dump) =>
      makeDebuggerAnnotations([source], [makeLine(run)], 'wall').length;
    expect(getMarks('fit/train')).toBe(1);
    expect(getMarks('fitted')).toBe(0);
    expect(getMarks('fit', { ...dump, run: 'fit/dump' })).toBe(1);
    expect(getMarks('train', { ...dump, run: '.' })).toBe(1);
    expect(getMarks('fit/train', { ...dump, problem_time: 2000 })).toBe(0);
    // It has no step.
    expect(makeDebuggerAnnotations([dump], [makeLine('fit/train')], 'step')).toEqual([]);
  });

  it('has no place on other axes', () => {
    expect(makeDebuggerAnnotations(rows, [makeLine('a')], 'index')).toEqual([]);
  });
});
