import { expect, test } from 'vitest';

import { pythonFor } from './python';

test('the same layout is logged by a few lines', () => {
  const margins = [
    { value: 'loss', lower: 'low', upper: 'high' },
    { value: 'acc', lower: 'a0', upper: 'a1' },
  ];
  const code = pythonFor([
    {
      title: 'Quality',
      closed: false,
      charts: [
        { title: 'Loss "raw"', tags: ['loss', 'val.*'], margins: [] },
        { title: 'Spread', tags: [], margins },
      ],
    },
  ]);
  expect(code.split('\n').slice(2, 9)).toEqual([
    'layout = {',
    '    "Quality": {',
    '        "Loss \\"raw\\"": ["Multiline", ["loss", "val.*"]],',
    '        "Spread": ["Margin", ["loss", "low", "high"]],',
    '        "Spread 2": ["Margin", ["acc", "a0", "a1"]],',
    '    },',
    '}',
  ]);
});
