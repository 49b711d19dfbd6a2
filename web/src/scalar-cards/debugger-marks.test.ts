import { describe, expect, it } from 'vitest';

import { makeDebuggerMarks } from './debugger-marks';

describe('makeDebuggerMarks', () => {
  const rows = [
    { name: 'a', run: 'a', problem_step: 97 },
    { name: 'b', run: 'b', problem_step: null },
    { name: 'c', run: 'c', problem_step: 5 },
  ];

  it('marks the runs on the chart that have a problem', () => {
    expect(makeDebuggerMarks(rows, ['a', 'b'], 'step')).toEqual([
      { id: 'debugger a', x: 97, text: 'Problem in a' },
    ]);
  });

  it('has no place on other axes', () => {
    expect(makeDebuggerMarks(rows, ['a'], 'wall')).toEqual([]);
  });
});
