import { describe, expect, it } from 'vitest';

import { accumulate, makeBinLabels, scaleCounts } from './distributions';

describe('distributions', () => {
  it('names bins by their edges, of which the last one is closed', () => {
    expect(makeBinLabels([0, 1, 2.5])).toEqual(['[0, 1)', '[1, 2.5]']);
    expect(makeBinLabels([])).toEqual([]);
  });

  it('scales counts to shares and logarithms', () => {
    expect(scaleCounts([1, 3, 0], true, false)).toEqual([25, 75, 0]);
    expect(scaleCounts([9, 0], false, true)).toEqual([1, 0]);
    expect(scaleCounts([0, 0], true, false)).toEqual([0, 0]);
  });

  it('accumulates shares up to 100 percent', () => {
    expect(accumulate([1, 1, 2])).toEqual([25, 50, 100]);
  });
});
