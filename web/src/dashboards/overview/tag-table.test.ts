import { expect, test } from 'vitest';

import { removeMarkdown } from './tag-table.svelte';

test.each([
  ['Green: correct. Red: **wrong**.', 'Green: correct. Red: wrong.'],
  [
    'From `noise` to a _planet_, [as logged](http://localhost/).',
    'From noise to a planet, as logged.',
  ],
  ['# Loss\ntrain_step * batch_size ** 2', 'Loss\ntrain_step * batch_size ** 2'],
])('removes Markdown from %j', (description, text) => {
  expect(removeMarkdown(description)).toBe(text);
});
