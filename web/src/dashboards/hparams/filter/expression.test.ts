import { expect, test } from 'vitest';

import { compileExpression } from '../../../base/expression/compile';
import type { Rule } from '../model/rules';
import { columnOf, sessionsOf } from '../model/samples';
import { expressionOf } from './expression';

const KEYS = ['hparam:lr', 'hparam:my opt', 'metric:|val/acc', 'metric:validation|acc', 'name'];
const SESSIONS = sessionsOf(...KEYS.map((key) => columnOf(key, [1])));

function say(rules: Record<string, Rule>, how = 'last'): string {
  return expressionOf(SESSIONS, new Map(Object.entries(rules)), how);
}

test('rules are said in the language of the run table', () => {
  const said = say({
    'hparam:lr': { range: [1e-5, 0.01] },
    'hparam:my opt': { values: ['adam', 'sgd 2'] },
    'metric:|val/acc': { range: [0.9, 1] },
    name: { pattern: '^a' },
  });
  expect(said).toBe(
    'lr >= 0.00001 and lr <= 0.01 and "my opt" in (adam, "sgd 2") and ' +
      'last("val/acc") >= 0.9 and last("val/acc") <= 1 and name ~ "^a"',
  );
  expect('sentence' in compileExpression(said)).toBe(false);
});

test('what the run table does not know is left out', () => {
  expect(say({ 'metric:validation|acc': { range: [0, 1] } })).toBe('');
  expect(say({ 'metric:|val/acc': { range: [0, 1] } }, 'mean')).toBe('');
  expect(say({ 'hparam:gone': { range: [0, 1] } })).toBe('');
});
