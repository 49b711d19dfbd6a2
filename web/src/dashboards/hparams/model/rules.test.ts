import { expect, test } from 'vitest';

import { findPassing, type Rule, rowsOf, withRule } from './rules';
import { columnOf, sessionsOf } from './samples';

const SESSIONS = sessionsOf(
  columnOf('lr', [0.1, 0.01, 0.001, null, NaN]),
  columnOf('opt', ['adam', 'sgd', 'adamw', 'sgd', null]),
);

function passing(rules: Record<string, Rule>, admitted?: Uint8Array): number[] {
  return [...rowsOf(findPassing(SESSIONS, new Map(Object.entries(rules)), admitted))];
}

test('without rules all pass that are admitted', () => {
  expect(passing({})).toEqual([0, 1, 2, 3, 4]);
  expect(passing({}, Uint8Array.of(0, 1, 0, 1, 0))).toEqual([1, 3]);
});

test('both ends of a range belong to it, and no number is in none', () => {
  expect(passing({ lr: { range: [0.001, 0.01] } })).toEqual([1, 2]);
  expect(passing({ lr: { range: [0, 1], blank: true } })).toEqual([0, 1, 2, 3]);
});

test('values pass by their text, numbers too', () => {
  expect(passing({ opt: { values: ['sgd'] } })).toEqual([1, 3]);
  expect(passing({ lr: { values: ['0.1', '1e-3'] } })).toEqual([0, 2]);
  expect(passing({ opt: { values: [] } })).toEqual([]);
});

test('an expression is matched anywhere, and one that is wrong lets all through', () => {
  expect(passing({ opt: { pattern: '^adam' } })).toEqual([0, 2]);
  expect(passing({ lr: { pattern: '01$' } })).toEqual([1, 2]);
  expect(passing({ opt: { pattern: '(' } })).toEqual([0, 1, 2, 3]);
});

test('all rules have to hold, and those of unknown columns do not count', () => {
  expect(
    passing({ opt: { values: ['sgd'] }, lr: { range: [0, 1] }, gone: { range: [0, 0] } }),
  ).toEqual([1]);
});

test('a rule that says nothing is taken away', () => {
  const rules = withRule(new Map(), 'lr', { range: [0, 1] });
  expect([...withRule(rules, 'lr', { pattern: '' })]).toEqual([]);
  expect([...withRule(rules, 'opt', { values: [] }).keys()]).toEqual(['lr', 'opt']);
  expect([...withRule(rules, 'lr', null)]).toEqual([]);
});
