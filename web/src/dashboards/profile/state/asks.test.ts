import { expect, it } from 'vitest';

import { queryOf } from './asks';

const ASK = {
  capture: 'a b',
  host: '',
  marker: '',
  rules: 'ours',
  thresholds: '',
  mark: null,
} as const;

it('asks for a capture by one name as long as all is as usual', () =>
  expect(queryOf('overview', ASK)).toBe('overview?capture=a+b'));

it('says what is not as usual, in one order', () =>
  expect(queryOf('compare', { ...ASK, rules: 'xprof', mark: 7 }, { before: 'c' })).toBe(
    'compare?capture=a+b&rules=xprof&mark=7&before=c',
  ));
