import { expect, test } from 'vitest';

import type { PartAbout } from '../../../api/images';
import { spotsIn } from './pixel-numbers';

const about = { width: 10, height: 5 } as PartAbout;
const place = { width: 100, height: 100 };

test('only pixels that are seen are read', () => {
  const spots = spotsIn({ about, place, lie: { left: -70, top: 10, scale: 50 } });
  expect(spots).toEqual([
    { x: 1, y: 0 },
    { x: 2, y: 0 },
    { x: 3, y: 0 },
    { x: 1, y: 1 },
    { x: 2, y: 1 },
    { x: 3, y: 1 },
  ]);
});

test('beside the picture there are none', () => {
  expect(spotsIn({ about, place, lie: { left: 200, top: 0, scale: 50 } })).toEqual([]);
});
