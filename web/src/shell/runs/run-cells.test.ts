import { expect, test } from 'vitest';

import { NO_COLUMNS } from '../../api/client';
import { columnTitle } from './run-cells';

const AVAILABLE = {
  ...NO_COLUMNS,
  display_names: { 'hparam:lr': 'Learning rate', 'min:val/acc': 'Accuracy' },
};

test.each([
  ['hparam:lr', 'Learning rate', 'lr'],
  ['min:val/acc', 'min Accuracy', 'val/acc'],
  ['last:loss', 'loss', 'loss'],
])('the title of %s has the display name, its tooltip the name', (key, text, name) => {
  const title = columnTitle(key, AVAILABLE);
  expect(title.text).toBe(text);
  expect(title.title).toContain(name);
});
