import { expect, test } from 'vitest';

import type { ColumnListResponse } from '../../api/client';
import { getColumnDescription, getColumnTitle, listColumnOptions } from './run-columns';

const AVAILABLE: ColumnListResponse = {
  hparams: [
    { name: 'lr', type: 'number', distinct: 2, low: 0, high: 1, values: [0, 1] },
    { name: 'depth', type: 'number', distinct: 1, low: 3, high: 3, values: [3] },
  ],
  metrics: ['val/acc', 'loss'],
  display_names: {
    'hparam:lr': 'Learning rate',
    'last:val/acc': 'Accuracy',
    'min:val/acc': 'Accuracy',
  },
};

test.each([
  ['hparam:lr', 'Learning rate'],
  ['hparam:depth', 'depth'],
  ['last:val/acc', 'Accuracy'],
  ['min:val/acc', 'min Accuracy'],
  ['max:loss', 'max loss'],
  ['start', 'Start time'],
])('the title of %s is %s', (key, title) => {
  expect(getColumnTitle(key, AVAILABLE)).toBe(title);
});

test('tooltips have the name that filters use', () => {
  expect(getColumnDescription('hparam:lr', AVAILABLE)).toContain('lr');
  expect(getColumnDescription('min:val/acc', AVAILABLE)).toContain('val/acc');
});

test('columns are chosen by their display names', () => {
  const [, hparams, metrics] = listColumnOptions(AVAILABLE, 'max', (key) => key === 'max:loss');
  expect(hparams?.options.map(({ label }) => label)).toEqual(['Learning rate', 'depth']);
  expect(metrics?.options.map(({ key, label, selected }) => [key, label, selected])).toEqual([
    ['max:val/acc', 'Accuracy', false],
    ['max:loss', 'loss', true],
  ]);
});
