import { expect, test } from 'vitest';

import { Store } from './store';

const open = () => new Store<string>(10, (text) => text.length);

test('what was used last is kept', () => {
  const store = open();
  store.keep('a', '1234');
  store.keep('b', '1234');
  store.find('a');
  store.keep('c', '1234');
  expect([store.find('a'), store.find('b'), store.find('c')]).toEqual(['1234', undefined, '1234']);
  expect(store.heldBytes).toBe(8);
});

test('a giant drives nothing out', () => {
  const store = open();
  store.keep('a', '1234');
  store.keep('giant', '12345678901');
  expect([store.find('a'), store.find('giant'), store.heldBytes]).toEqual(['1234', undefined, 4]);
});

test('the same again counts once', () => {
  const store = open();
  store.keep('a', '1234');
  store.keep('a', '12345');
  expect(store.heldBytes).toBe(5);
});
