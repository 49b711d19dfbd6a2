import { describe, expect, it } from 'vitest';

import type { StatisticsRow } from '../../../api/schemas';
import {
  accumulate,
  getLargestDrift,
  listKinds,
  makeBinLabels,
  makeLengthLabels,
  matchesKinds,
  scaleCounts,
} from './distributions';

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

  it('names bins of lengths', () => {
    expect(makeLengthLabels([1, 2, 3])).toEqual(['1', '2']);
    expect(makeLengthLabels([0, 4, 8])).toEqual(['0 – 3', '4 – 7']);
  });

  it('takes the largest drift of several data sets', () => {
    const others = [{ jensen_shannon: 0.2 }, { jensen_shannon: NaN }, { jensen_shannon: 0.4 }];
    const row = { others } as unknown as StatisticsRow;
    expect(getLargestDrift(row, 'jensen_shannon')).toBe(0.4);
    expect(getLargestDrift({ ...row, others: [] }, 'jensen_shannon')).toBeNull();
  });

  it('filters features by type and shape', () => {
    const age = { type: 'integer', is_list: false, list_length: null } as const;
    const vector = { type: 'float', is_list: true, list_length: 3 } as const;
    const words = { type: 'string', is_list: true, list_length: null } as const;
    expect(listKinds([age, vector])).toEqual(['float', 'integer', 'single', 'fixed']);
    expect(listKinds([age])).toEqual([]);
    const find = (...kinds: string[]) =>
      [age, vector, words].filter((row) => matchesKinds(row, kinds)).map(({ type }) => type);
    expect(find()).toEqual(['integer', 'float', 'string']);
    expect(find('integer', 'float')).toEqual(['integer', 'float']);
    expect(find('fixed', 'variable')).toEqual(['float', 'string']);
    expect(find('float', 'variable')).toEqual([]);
  });
});
