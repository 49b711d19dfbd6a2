import { expect, test } from 'vitest';

import type { Column } from '../model/column';
import type { Finding } from '../model/findings';
import { sayLean, sayRange } from './words';

function found(
  title: string,
  values: readonly number[],
  range: readonly [number, number],
): Finding {
  const numbers = Float64Array.from(values);
  const common = { kind: 'hparam', description: '', meaning: 'value', words: null } as const;
  const column: Column = { ...common, key: title, title, numbers, missing: null, differs: true };
  return { column, lean: 'high', word: null, range, strength: 1 };
}

test('values that somebody chose are said as they are', () => {
  expect(sayRange(found('units', [64, 128, 256, 512], [256, 512]))).toBe('256 – 512');
  expect(sayRange(found('rate', [0.001, 0.0025], [0.0025, 0.0025]))).toBe('0.0025');
});

test('values that were drawn are said in two digits', () => {
  const drawn = Array.from({ length: 50 }, (_, place) => 0.001 + place / 12345);
  expect(sayRange(found('rate', drawn, [0.002613, 0.007133]))).toBe('0.0026 – 0.0071');
});

test('what is counted is many, what is measured is high', () => {
  expect(sayLean(found('units', [1, 2], [2, 2]))).toBe('many');
  expect(sayLean(found('dropout', [1, 2], [2, 2]))).toBe('high');
});
