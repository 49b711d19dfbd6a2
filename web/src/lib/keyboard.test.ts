import { expect, test } from 'vitest';

import { getKeyLabels, matchesShortcut } from './keyboard';

const press = (key: string, held: string[] = []): Parameters<typeof matchesShortcut>[1] => ({
  key,
  ctrlKey: held.includes('ctrl'),
  metaKey: held.includes('meta'),
  altKey: held.includes('alt'),
  shiftKey: held.includes('shift'),
});

test('shortcuts match exact modifiers', () => {
  expect(matchesShortcut('f', press('f'))).toBe(true);
  expect(matchesShortcut('f', press('f', ['ctrl']))).toBe(false);
  expect(matchesShortcut('Shift+P', press('P', ['shift']))).toBe(true);
  expect(matchesShortcut('p', press('P', ['shift']))).toBe(false);
  expect(matchesShortcut('Mod+K', press('k', ['meta']))).toBe(true);
  expect(matchesShortcut('Mod+K', press('k', ['ctrl']))).toBe(true);
});

test('symbols match on any keyboard layout', () => {
  expect(matchesShortcut('?', press('?', ['shift']))).toBe(true);
  expect(matchesShortcut('/', press('/', ['shift']))).toBe(true);
  expect(matchesShortcut('+', press('+'))).toBe(true);
});

test('key labels depend on the platform', () => {
  expect(getKeyLabels('Mod+K', true)).toEqual(['⌘', 'K']);
  expect(getKeyLabels('Mod+K', false)).toEqual(['Ctrl', 'K']);
  expect(getKeyLabels('Shift+ArrowLeft')).toEqual(['Shift', '←']);
  expect(getKeyLabels('?')).toEqual(['?']);
});
