import { expect, test } from 'vitest';

import { applyView } from './series-view';
import { makeSeries } from './test-series';
import { writeTable } from './static-scalars';

const series = makeSeries('a,b', [1, NaN, -Infinity]);
const members = [[{ run: 'a,b', tag: 'say "x"' }, applyView(series, 'step', null, null)]] as const;

test('a table has a line for each point', async () => {
  const file = writeTable({ format: 'csv', x: 'step', smoothing: null }, members);
  expect(await file?.text()).toBe(
    [
      'run,tag,step,wall_time,value',
      '"a,b","say ""x""",0,1000,1',
      '"a,b","say ""x""",10,1001,nan',
      '"a,b","say ""x""",20,1002,-inf\n',
    ].join('\n'),
  );
});

test('JSON has an object for each series', async () => {
  const smoothing = { kind: 'ema', amount: 0.5 } as const;
  const smoothed = applyView(makeSeries('r', [1, 3]), 'relative', smoothing, null);
  const ask = { format: 'json', x: 'relative', smoothing } as const;
  const file = writeTable(ask, [[{ run: 'r', tag: 't' }, smoothed]]);
  expect(JSON.parse((await file?.text()) ?? '')).toEqual([
    {
      run: 'r',
      tag: 't',
      step: [0, 10],
      wall_time: [1000, 1001],
      x: [0, 1],
      value: [1, 3],
      smoothed: [1, 7 / 3],
    },
  ]);
});

test('no browser writes Parquet', () => {
  expect(writeTable({ format: 'parquet', x: 'step', smoothing: null }, members)).toBeNull();
});
