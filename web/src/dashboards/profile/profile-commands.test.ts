import { expect, it } from 'vitest';

import { toCsv } from '../../cards/export';
import { makeStepsTable } from './profile-commands';

it('exports a row per step', () => {
  const input = Float64Array.of(0.5, 0.25);
  const table = makeStepsTable({
    names: ['train 1', 'a, "quoted" one'],
    start_ms: Float64Array.of(0, 2),
    total_ms: Float64Array.of(1.5, 2),
    parts: [
      {
        name: 'input',
        label: { code: '', text: 'input', args: {} },
        exclusive_ms: input,
        inclusive_ms: input,
      },
    ],
    other_ms: Float64Array.of(1, 1.75),
    averaged: [0, 2],
  });
  expect(toCsv(table)).toBe(
    'step,start_ms,total_ms,input_ms,other_ms\n' +
      'train 1,0,1.5,0.5,1\n' +
      '"a, ""quoted"" one",2,2,0.25,1.75\n',
  );
});
