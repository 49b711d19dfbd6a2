import { expect, it } from 'vitest';

import type { CounterTrack } from '../../api/schemas';
import type { ExportContents } from '../../api/static/static-transport';
import { profileHandlers } from './static-profile';

const MEMORY: CounterTrack = {
  kind: 'memory',
  name: 'GPU',
  process: '',
  peak: 9,
  low: 0,
  times: Float64Array.of(0, 10, 20, 30),
  values: Float64Array.of(0, 9, 4, 7),
};

async function readCounter(start: number, end: number) {
  const path = 'api/v1/profile/timeline?capture=a%2Fb';
  const contents = {
    read: (name: string) =>
      name === path
        ? Promise.resolve({ counters: { counters: [MEMORY] } })
        : Promise.reject(new Error(name)),
  } as unknown as ExportContents;
  const handle = profileHandlers['POST profile/timeline/counters'];
  const response = await handle?.({ capture: 'a/b', start, end, cells: 100 }, contents);
  const { times, values } = response?.counters[0] ?? MEMORY;
  return [[...times], [...values]];
}

it('returns the counters of a range, with the value at its start', async () => {
  expect(await readCounter(0, 100)).toEqual([[...MEMORY.times], [...MEMORY.values]]);
  expect(await readCounter(15, 30)).toEqual([
    [15, 20],
    [9, 4],
  ]);
  expect(await readCounter(40, 50)).toEqual([[40], [7]]);
});
