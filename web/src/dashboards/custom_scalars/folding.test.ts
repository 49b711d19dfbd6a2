import { expect, test } from 'vitest';

import { Folding } from './folding';

function keep() {
  const kept = {
    value: [] as readonly string[],
    set: (to: readonly string[]) => void (kept.value = to),
  };
  return kept;
}

test('what is closed at first can be opened, and what is open closed', () => {
  const kept = keep();
  const folding = new Folding(kept);
  folding.startFrom(() => ['b']);
  expect(folding.value).toEqual(['b']);
  folding.set([]);
  expect([folding.value, kept.value]).toEqual([[], ['b']]);
  folding.set(['a', 'b']);
  expect([folding.value, kept.value]).toEqual([['b', 'a'], ['a']]);
});
