import { expect, it } from 'vitest';

import { stepBoxes } from './steps';

const STEPS = {
  rule: '',
  names: ['train 7', 'train 8', 'train 9'],
  start: Float64Array.of(0, 500, 900),
  end: Float64Array.of(500, 900, 1000),
};

it('says of steps what there is room for', () => {
  const boxes = stepBoxes(STEPS, { start: 0, end: 1000 }, 170);
  expect(boxes.map(({ left, width, text }) => [left, width, text])).toEqual([
    [0, 85, 'train 7'],
    [85, 68, '8'],
    [153, 17, ''],
  ]);
});

it('leaves out what is too narrow or not seen, and cuts what reaches out', () => {
  const boxes = stepBoxes(STEPS, { start: 400, end: 920 }, 520);
  expect(boxes.map(({ name, left, width }) => [name, left, width])).toEqual([
    ['train 7', 0, 100],
    ['train 8', 100, 400],
    ['train 9', 500, 20],
  ]);
  expect(stepBoxes(STEPS, { start: 600, end: 700 }, 13)).toEqual([]);
});
