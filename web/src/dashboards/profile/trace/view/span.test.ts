import { describe, expect, it } from 'vitest';

import { frame, keepWithin, lengthOf, looksLike, wholeOf, zoom } from './span';

const WHOLE = { start: 0, end: 1e9 };

describe('a stretch of time', () => {
  it('keeps the place that it is zoomed around', () => {
    const near = zoom({ start: 100, end: 300 }, 0.5, 150);
    expect(near).toEqual({ start: 125, end: 225 });
    expect((150 - near.start) / lengthOf(near)).toBe((150 - 100) / 200);
  });

  it('never leaves the trace, nor becomes longer than it or shorter than anything', () => {
    expect(keepWithin({ start: -5e8, end: 5e8 }, WHOLE)).toEqual(WHOLE);
    expect(keepWithin({ start: 2e9, end: 2.1e9 }, WHOLE)).toEqual({ start: 9e8, end: 1e9 });
    expect(lengthOf(keepWithin({ start: 7, end: 7 }, WHOLE))).toBe(500);
    expect(keepWithin({ start: -1e12, end: 1e12 }, WHOLE)).toEqual(WHOLE);
  });

  it('has air around a trace and around an event, even around one that takes no time', () => {
    expect(wholeOf(WHOLE)).toEqual({ start: -2e7, end: 1.02e9 });
    expect(lengthOf(frame({ start: 5e8, end: 5e8 }))).toBe(4e6);
    expect(frame({ start: 1e8, end: 2e8 })).toEqual({ start: 0, end: 3e8 });
  });

  it('looks like another that differs by less than a pixel', () => {
    expect(looksLike(WHOLE, { start: 1e5, end: 1e9 })).toBe(true);
    expect(looksLike(WHOLE, { start: 1e6, end: 1e9 })).toBe(false);
  });
});
