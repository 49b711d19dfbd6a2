import { expect, test } from 'vitest';

import { listUniqueNotes } from './projector-labels';

test('notes become sentences without duplicates', () => {
  expect(listUniqueNotes(['cut off', 'Cut off.', 'too large!'])).toEqual([
    'Cut off.',
    'Too large!',
  ]);
});
