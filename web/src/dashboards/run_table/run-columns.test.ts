import { expect, test } from 'vitest';

import type { ColumnListResponse } from '../../api/client';
import { formatCell, getColumnDescription, getColumnTitle, listColumnOptions } from './run-columns';

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
  ['at:2500:val/acc', 'Accuracy at step 2,500'],
  ['at:0:a:b', 'a:b at step 0'],
  ['last:at:1:x', 'at:1:x'],
  ['start', 'Start time'],
])('the title of %s is %s', (key, title) => {
  expect(getColumnTitle(key, AVAILABLE)).toBe(title);
});

test('tooltips have the name that filters use', () => {
  expect(getColumnDescription('hparam:lr', AVAILABLE)).toContain('lr');
  expect(getColumnDescription('min:val/acc', AVAILABLE)).toContain('val/acc');
  expect(getColumnDescription('at:10:val/acc', AVAILABLE)).toBe(
    'Last value of val/acc up to step 10',
  );
});

test('an empty text is not a missing value', () => {
  const format = (value: string | null): string =>
    formatCell('hparam:note', 'text', value, new Date()).text;
  expect([format(''), format(null), format('x')]).toEqual(['(empty)', '', 'x']);
});

test('columns are chosen by their display names', () => {
  const [, hparams, metrics] = listColumnOptions(AVAILABLE, 'max', (key) => key === 'max:loss');
  expect(hparams?.options.map(({ label }) => label)).toEqual(['Learning rate', 'depth']);
  expect(metrics?.options.map(({ key, label, selected }) => [key, label, selected])).toEqual([
    ['max:val/acc', 'Accuracy', false],
    ['max:loss', 'loss', true],
  ]);
});
