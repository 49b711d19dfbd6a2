import { describe, expect, it } from 'vitest';

import { spanAround, spanOf } from './spans';

describe('windows of the trace', () => {
  it('are in microseconds', () =>
    expect(spanOf({ start_ps: 2e9, end_ps: 5e9 })).toEqual([2000, 5000]));

  it('are not there where nothing is seen in them', () =>
    expect(spanOf({ start_ps: 0, end_ps: 0 })).toBeNull());

  it('show an event among what is around it', () => {
    const row = { event: 1, name: 'a', track: 'main', start_ps: 10e6, duration_ps: 3e6 };
    expect(spanAround(row)).toEqual([4, 19]);
  });

  it('do not begin before the trace does', () => {
    const row = { event: 1, name: 'a', track: 'main', start_ps: 1e6, duration_ps: 3e6 };
    expect(spanAround(row)[0]).toBe(0);
  });
});
