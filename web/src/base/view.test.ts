import { expect, test } from 'vitest';

import { NO_FILTER } from './filter';
import { formatView, parseView, type ViewState } from './view';

const plain: ViewState = {
  run: null,
  runFilter: NO_FILTER,
  tagFilter: NO_FILTER,
  kind: null,
  folded: [],
};

test('the plain view needs no query', () => {
  expect(formatView(plain)).toBe('');
  expect(parseView('')).toEqual(plain);
});

test.each<ViewState>([
  { ...plain, run: 'conv/a b&c=d' },
  { ...plain, run: '' },
  { ...plain, runFilter: { text: 'lr.*', regex: true }, tagFilter: { text: '/x/', regex: false } },
  { ...plain, kind: 'image' },
  { ...plain, folded: ['train', 'eval,x'] },
])('a view comes back from its address: %o', (view) => {
  expect(parseView(formatView(view))).toEqual(view);
});
