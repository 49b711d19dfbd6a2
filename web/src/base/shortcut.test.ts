import { expect, test } from 'vitest';

import { capsOf, matchesKeys } from './shortcut';

const press = (key: string, held: string[] = []): Parameters<typeof matchesKeys>[1] => ({
  key,
  ctrlKey: held.includes('ctrl'),
  metaKey: held.includes('meta'),
  altKey: held.includes('alt'),
  shiftKey: held.includes('shift'),
});

test('keys are taken with just the modifiers they name', () => {
  expect(matchesKeys('f', press('f'))).toBe(true);
  expect(matchesKeys('f', press('f', ['ctrl']))).toBe(false);
  expect(matchesKeys('Shift+P', press('P', ['shift']))).toBe(true);
  expect(matchesKeys('p', press('P', ['shift']))).toBe(false);
  expect(matchesKeys('Mod+K', press('k', ['meta']))).toBe(true);
  expect(matchesKeys('Mod+K', press('k', ['ctrl']))).toBe(true);
});

test('a sign is itself, wherever the keyboard has it', () => {
  expect(matchesKeys('?', press('?', ['shift']))).toBe(true);
  expect(matchesKeys('/', press('/', ['shift']))).toBe(true);
  expect(matchesKeys('+', press('+'))).toBe(true);
});

test('the caps are those of the machine', () => {
  expect(capsOf('Mod+K', true)).toEqual(['⌘', 'K']);
  expect(capsOf('Mod+K', false)).toEqual(['Ctrl', 'K']);
  expect(capsOf('Shift+ArrowLeft')).toEqual(['Shift', '←']);
  expect(capsOf('?')).toEqual(['?']);
});
