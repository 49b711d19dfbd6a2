import { describe, expect, it } from 'vitest';

import { isSameList, splitLines } from './class-names';

describe('class names', () => {
  it('are the lines of a text, without empty lines at the end', () => {
    expect(splitLines(' no \nyes\n\n')).toEqual(['no', 'yes']);
    expect(splitLines('')).toEqual([]);
    // A name is missing; the server says so.
    expect(splitLines('a\n\nb')).toEqual(['a', '', 'b']);
  });

  it('are compared in order', () => {
    expect(isSameList(['a', 'b'], ['a', 'b'])).toBe(true);
    expect(isSameList(['a', 'b'], ['b', 'a'])).toBe(false);
    expect(isSameList(['a'], ['a', 'b'])).toBe(false);
  });
});
