import { expect, test } from 'vitest';

import { Shelf } from './shelf';

test('what was not used for longest goes first', () => {
  const gone: string[] = [];
  const shelf = new Shelf<string>(3, (thing) => gone.push(thing));
  for (const name of ['a', 'b', 'c']) shelf.keep(name, name, 1);
  expect(shelf.find('a')).toBe('a');
  shelf.keep('d', 'd', 1);
  expect(gone).toEqual(['b']);
  expect(shelf.held).toBe(3);
});

test('something larger than the shelf is held until the next comes', () => {
  const shelf = new Shelf<string>(3);
  shelf.keep('small', 'small', 1);
  shelf.keep('large', 'large', 10);
  expect(shelf.find('large')).toBe('large');
  expect(shelf.find('small')).toBeUndefined();
  shelf.keep('next', 'next', 1);
  expect(shelf.held).toBe(1);
});

test('the same key again takes the place of what was there', () => {
  const shelf = new Shelf<string>(9);
  shelf.keep('a', 'old', 4);
  shelf.keep('a', 'new', 2);
  expect([shelf.find('a'), shelf.held]).toEqual(['new', 2]);
  shelf.clear();
  expect(shelf.held).toBe(0);
});
