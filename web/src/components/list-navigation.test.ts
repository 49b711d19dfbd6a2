import { expect, test } from 'vitest';

import { moveIndex, Typeahead } from './list-navigation';

test('arrow keys wrap around, page keys stop at the ends', () => {
  expect(moveIndex('ArrowDown', 2, 3)).toBe(0);
  expect(moveIndex('ArrowUp', 0, 3)).toBe(2);
  expect(moveIndex('ArrowDown', -1, 3)).toBe(0);
  expect(moveIndex('ArrowUp', -1, 3)).toBe(2);
  expect(moveIndex('PageDown', 1, 30)).toBe(11);
  expect(moveIndex('PageDown', 25, 30)).toBe(29);
  expect(moveIndex('PageUp', 5, 30)).toBe(0);
  expect([moveIndex('Home', 5, 30), moveIndex('End', 5, 30)]).toEqual([0, 29]);
});

test('other keys and empty lists do not navigate', () => {
  expect(moveIndex('a', 0, 3)).toBeNull();
  expect(moveIndex('ArrowDown', -1, 0)).toBeNull();
});

const LABELS = ['Download CSV', 'Download JSON', 'Log scale', 'Lock range'];

test('letters find the label that starts with them', () => {
  const typeahead = new Typeahead();
  expect(typeahead.find('l', LABELS, 0, 0)).toBe(2);
  expect(typeahead.find('o', LABELS, 2, 100)).toBe(2);
  expect(typeahead.find('c', LABELS, 2, 200)).toBe(3);
  expect(typeahead.find('x', LABELS, 3, 300)).toBeNull();
});

test('a repeated letter cycles, a pause resets the text', () => {
  const typeahead = new Typeahead();
  expect(typeahead.find('d', LABELS, 0, 0)).toBe(1);
  expect(typeahead.find('d', LABELS, 1, 100)).toBe(0);
  expect(typeahead.find('l', LABELS, 0, 2000)).toBe(2);
});

test('a space or a named key alone is not typed text', () => {
  const typeahead = new Typeahead();
  expect(typeahead.find(' ', LABELS, 0, 0)).toBeNull();
  expect(typeahead.find('Enter', LABELS, 0, 0)).toBeNull();
});
