import { expect, it } from 'vitest';

import { changeThreshold, writeThresholds } from './thresholds';

const ROWS = [
  { name: 'input', title: '', percent: 5, usual: 5 },
  { name: 'kernel launch', title: '', percent: 30, usual: 15 },
];

it('says only what is not as usual', () => {
  expect(writeThresholds(ROWS)).toBe('kernel launch:30');
  expect(writeThresholds(ROWS.slice(0, 1))).toBe('');
});

it('changes one and keeps the others', () => {
  expect(changeThreshold(ROWS, 'input', 12.5)).toBe('input:12.5,kernel launch:30');
  expect(changeThreshold(ROWS, 'kernel launch', null)).toBe('');
});

it('keeps to what is a part of a whole', () => {
  expect(changeThreshold(ROWS, 'input', 400)).toBe('input:100,kernel launch:30');
  expect(changeThreshold(ROWS, 'input', -1)).toBe('input:0,kernel launch:30');
});
