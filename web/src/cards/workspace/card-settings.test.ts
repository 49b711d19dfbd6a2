import { expect, test } from 'vitest';

import { readCardSettings } from './card-settings';

const read = (query: string, target = 'loss') =>
  readCardSettings(new URLSearchParams(query), target);

test('settings of the dashboard are kept, those of the page are not', () => {
  expect(read('tab=scalars&selected=none&smoothing=0.9&x=wall&pinned=loss')).toEqual({
    smoothing: '0.9',
    x: 'wall',
  });
});

test('the step of all cards becomes the step of the card', () => {
  expect(read('tab=images&step=20', 'samples,first')).toEqual({ steps: 'samples\\,first,20' });
  expect(read('tab=images&step=20&sync-steps=0&steps=loss,5')).toEqual({ steps: 'loss,5' });
});
