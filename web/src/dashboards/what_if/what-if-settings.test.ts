import { expect, test } from 'vitest';

import { ATTRIBUTIONS, formatDistance, nameDistance, parseDistance } from './what-if-settings';

test('names of distances say what they measure', () => {
  const columns = [
    { row: 12, metric: 'l1', by: '' },
    { row: 0, metric: 'cosine', by: 'a:b, c' },
    { row: 3, metric: 'l2', by: ATTRIBUTIONS },
  ] as const;
  for (const column of columns) expect(parseDistance(nameDistance(column))).toEqual(column);
  expect(formatDistance(columns[0])).toBe('L1 distance to datapoint 12');
  expect(formatDistance(columns[2])).toBe('L2 distance to datapoint 3 (Attributions)');
});

test('other columns are no distances', () => {
  for (const name of ['age', 'distance:3:l1', ' distance:x:l1', ' distance:3:l9', ''])
    expect(parseDistance(name)).toBeNull();
});
