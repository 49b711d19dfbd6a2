import { expect, test } from 'vitest';

import { layoutCodec } from './codec';

const LAYOUT = [
  {
    title: 'Quality',
    closed: true,
    charts: [
      { title: 'Loss', tags: ['loss', 'val.*loss'], margins: [] },
      { title: 'Spread', tags: [], margins: [{ value: 'a', lower: 'b', upper: 'c' }] },
    ],
  },
];

test('a layout is read as it was written', () => {
  const text = layoutCodec.format(LAYOUT);
  expect(text).toBe(
    '[["Quality",1,[["Loss",["loss","val.*loss"],[]],["Spread",[],[["a","b","c"]]]]]]',
  );
  expect(layoutCodec.parse(text)).toEqual(LAYOUT);
});

test('a damaged link has no layout', () => {
  for (const text of ['', '{', '[["a"]]', '[["a",0,[["b",["c"],[["d"]]]]]]', '7']) {
    expect(layoutCodec.parse(text)).toBeNull();
  }
});
