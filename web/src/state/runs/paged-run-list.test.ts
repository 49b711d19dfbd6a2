import { expect, test } from 'vitest';

import { AUTO_SELECTION, makeSelection } from '../../lib/run-selection';
import { makeExpression, makeSelectionRequest } from './paged-run-list.svelte';

test.each([
  ['text', '', ''],
  ['text', ' conv  or ', '"conv" "or"'],
  ['text', 'a"b', '"a\\"b"'],
  ['regex', '^lr"(.*)', 'name ~ "^lr\\x22(.*)" or alias ~ "^lr\\x22(.*)"'],
  ['regex', 'a\\"\\d', 'name ~ "a\\x22\\d" or alias ~ "a\\x22\\d"'],
  ['expression', 'lr < 0.1', 'lr < 0.1'],
] as const)('a filter by %s of %j is sent as an expression', (mode, text, expected) => {
  expect(makeExpression(mode, text)).toBe(expected);
});

test('selections are sent as a number of the newest runs and exceptions', () => {
  const lists = { on: [], off: [] };
  expect(makeSelectionRequest(AUTO_SELECTION)).toEqual({ newest: 100, all_up_to: 500, ...lists });
  expect(makeSelectionRequest(makeSelection('all', [], ['a']))).toEqual({
    newest: null,
    on: [],
    off: ['a'],
  });
  expect(makeSelectionRequest(makeSelection('none', ['/conv']))).toEqual({
    newest: 0,
    on: ['/conv'],
    off: [],
  });
  expect(makeSelectionRequest(makeSelection({ newest: 20 }))).toEqual({ newest: 20, ...lists });
});
