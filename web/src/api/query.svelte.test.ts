import { expect, test } from 'vitest';

import { ListQuery } from './query.svelte';
import { settle } from './query-test-tools';

test('a response to an earlier request does not replace a later one', async () => {
  const answers: ((rows: { id: string }[]) => void)[] = [];
  const list = new ListQuery<{ id: string }>(() => new Promise((resolve) => answers.push(resolve)));
  void list.load();
  void list.load();
  answers[1]?.([{ id: 'new' }]);
  await settle();
  answers[0]?.([{ id: 'old' }]);
  await settle();
  expect(list.rows).toEqual([{ id: 'new' }]);
});
