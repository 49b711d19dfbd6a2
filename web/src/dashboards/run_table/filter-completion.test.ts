import { expect, test } from 'vitest';

import { completeFilter, type FilterFields } from './filter-completion';

const FIELDS: FilterFields = {
  plain: [
    { name: 'name', hint: '' },
    { name: 'state', hint: '' },
    { name: 'start', hint: '' },
  ],
  hparams: [
    { name: 'lr', type: 'number', distinct: 2, low: 0.1, high: 1, values: [0.1, 1] },
    {
      name: 'opt',
      type: 'string',
      distinct: 2,
      low: null,
      high: null,
      values: ['adam', 'big sgd'],
    },
    { name: 'a b', type: 'bool', distinct: 1, low: null, high: null, values: [true] },
  ],
  metrics: ['val/loss', 'train/loss'],
  displayNames: { 'hparam:opt': 'Optimizer', 'last:val/loss': 'Validation error' },
  labels: ['best'],
  states: ['running', 'finished'],
};

/** Return the texts that the first completions result in; `|` is the caret. */
function complete(marked: string): string[] {
  const caret = marked.indexOf('|');
  const text = marked.replace('|', '');
  const { start, options } = completeFilter(text, caret, FIELDS);
  return options.map(({ insert }) => text.slice(0, start) + insert + text.slice(caret));
}

test.each([
  ['st|', ['state ', 'start ', 'step(', 'last(']],
  [
    'lr < 1 and o|',
    ['lr < 1 and opt ', 'lr < 1 and last("val/loss") ', 'lr < 1 and last("train/loss") '],
  ],
  ['state = |', ['state = running ', 'state = finished ']],
  ['state = fin|', ['state = finished ']],
  ['state in (running, f|)', ['state in (running, finished )']],
  ['opt = b|', ['opt = "big sgd" ']],
  ['tag:|', ['tag:best ']],
  ['last(|', ['last("val/loss") ', 'last("train/loss") ']],
  ['min("tr|', ['min("train/loss") ']],
  ['at("tr|', ['at("train/loss", ']],
  [
    'a|',
    [
      ...['config("a b") ', 'at(', 'name ', 'state ', 'start ', 'last(', 'max('],
      ...['last("val/loss") ', 'last("train/loss") '],
    ],
  ],
  ['val|', ['last("val/loss") ']],
  ['Optimiz|', ['opt ']],
  ['error|', ['last("val/loss") ']],
  ['last(valid|', ['last("val/loss") ']],
  ['lr < |', ['lr < 0.1 ', 'lr < 1 ']],
])('%s', (marked, expected) => {
  expect(complete(marked)).toEqual(expected);
});

test('nothing is offered for a complete word', () => {
  expect(complete('state = running|')).toEqual([]);
});
