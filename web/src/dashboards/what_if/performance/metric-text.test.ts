import { expect, test } from 'vitest';

import { describeInterval, formatWithInterval } from './metric-text';

test('a value has its interval, or the reason why there is none', () => {
  const none = { low: NaN, high: NaN };
  expect(formatWithInterval(0.5, { low: 0.25, high: 0.75 })).toBe('0.5 (0.25, 0.75)');
  expect(describeInterval(0.5, { low: 0.25, high: 0.75 })).toContain('from 0.25 to 0.75');
  expect(formatWithInterval(1, { low: 1, high: 1 })).toBe('1 (no interval)');
  expect(describeInterval(1, { low: 1, high: 1 })).toContain('the same value');
  expect(formatWithInterval(0.5, none)).toBe('0.5 (no interval)');
  expect(describeInterval(0.5, none)).toContain('undefined in most');
  expect(formatWithInterval(NaN, none)).toBe('—');
  expect(describeInterval(NaN, none)).toContain('Undefined');
});
