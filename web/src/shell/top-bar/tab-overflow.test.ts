import { expect, test } from 'vitest';

import { splitTabs } from './tab-overflow';

const WIDTHS = [100, 80, 60, 120];
const MORE = 50;

test('all tabs are shown where they fit', () => {
  expect(splitTabs(WIDTHS, 0, 360, MORE)).toEqual({ shown: [0, 1, 2, 3], overflow: [] });
});

test('a More button that is always shown needs space too', () => {
  expect(splitTabs(WIDTHS, 0, 409, MORE, true)).toEqual({ shown: [0, 1, 2], overflow: [3] });
  expect(splitTabs(WIDTHS, 0, 410, MORE, true)).toEqual({ shown: [0, 1, 2, 3], overflow: [] });
});

test('the last tabs overflow first', () => {
  expect(splitTabs(WIDTHS, 0, 359, MORE)).toEqual({ shown: [0, 1, 2], overflow: [3] });
  expect(splitTabs(WIDTHS, 0, 230, MORE)).toEqual({ shown: [0, 1], overflow: [2, 3] });
});

test('no later tab is shown past one that does not fit', () => {
  expect(splitTabs([100, 80, 200, 20], 0, 260, MORE)).toEqual({ shown: [0, 1], overflow: [2, 3] });
});

test('the active tab is always shown', () => {
  expect(splitTabs(WIDTHS, 3, 270, MORE)).toEqual({ shown: [0, 3], overflow: [1, 2] });
  expect(splitTabs(WIDTHS, 3, 10, MORE)).toEqual({ shown: [3], overflow: [0, 1, 2] });
});

test('without an active tab nothing is reserved for it', () => {
  expect(splitTabs(WIDTHS, -1, 230, MORE)).toEqual({ shown: [0, 1], overflow: [2, 3] });
  expect(splitTabs([], -1, 0, MORE)).toEqual({ shown: [], overflow: [] });
});
