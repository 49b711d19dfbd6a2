import { expect, test } from 'vitest';

import { textPythonCode } from './text-actions';

test('the lines read the texts of all runs that are shown', () => {
  const roots = [{ name: '', path: '/logs' }];
  expect(textPythonCode({ roots, runs: ['a', 'b"c'], tag: 'notes' })).toBe(
    [
      'import tracklight',
      '',
      'log = tracklight.open("/logs")',
      'for run in ["a", "b\\"c"]:',
      '    texts = log.text(run, "notes")',
      '    for step, text in zip(texts.step, texts):',
      '        print(run, step, text)  # an array of strings, of rank 0 for a plain text',
      '',
    ].join('\n'),
  );
});
