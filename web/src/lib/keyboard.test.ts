import { expect, test } from 'vitest';

import { getKeyLabels, matchesShortcut } from './keyboard';

const press = (key: string, held: string[] = []): Parameters<typeof matchesShortcut>[1] => ({
  key,
  ctrlKey: held.includes('ctrl'),
  metaKey: held.includes('meta'),
  altKey: held.includes('alt'),
  shiftKey: held.includes('shift'),
});

test('keys are taken with just the modifiers they name', () => {
  expect(matchesShortcut('f', press('f'))).toBe(true);
  expect(matchesShortcut('f', press('f', ['ctrl']))).toBe(false);
  expect(matchesShortcut('Shift+P', press('P', ['shift']))).toBe(true);
  expect(matchesShortcut('p', press('P', ['shift']))).toBe(false);
  expect(matchesShortcut('Mod+K', press('k', ['meta']))).toBe(true);
  expect(matchesShortcut('Mod+K', press('k', ['ctrl']))).toBe(true);
});

test('a sign is itself, wherever the keyboard has it', () => {
  expect(matchesShortcut('?', press('?', ['shift']))).toBe(true);
  expect(matchesShortcut('/', press('/', ['shift']))).toBe(true);
  expect(matchesShortcut('+', press('+'))).toBe(true);
});

test('the caps are those of the machine', () => {
  expect(getKeyLabels('Mod+K', true)).toEqual(['⌘', 'K']);
  expect(getKeyLabels('Mod+K', false)).toEqual(['Ctrl', 'K']);
  expect(getKeyLabels('Shift+ArrowLeft')).toEqual(['Shift', '←']);
  expect(getKeyLabels('?')).toEqual(['?']);
});
