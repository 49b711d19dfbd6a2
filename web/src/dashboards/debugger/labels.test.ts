import { describe, expect, it } from 'vitest';

import type { HealthAlert, RootCause } from '../../api/schemas';
import { describeAlert, describeRootCause, formatShape, getFileName, getOpLabel } from './labels';

const alert: HealthAlert = {
  kind: 'nan',
  op_type: 'Log',
  op_name: 'loss/Log',
  output_slot: 0,
  wall_time: 0,
  step: null,
  size: 4000,
  nan: 1234,
  neg_inf: 0,
  pos_inf: 2,
  execution: null,
  graph_execution: 5,
  dtype: 'float32',
  role: '',
  tensor: null,
  message: '',
  code: '',
  args: {},
};

const cause: RootCause = {
  ...alert,
  message: '',
  detail: '',
  hint: '',
  hint_code: '',
  hint_args: {},
  inputs: [],
  source: null,
  stack: [],
  followers: 0,
  is_certain: true,
};

describe('describeAlert', () => {
  it('lists the counts that are not zero', () => {
    expect(describeAlert(alert)).toBe('1,234 NaN, 2 +Inf of 4,000');
  });

  it('says what is known without counts', () => {
    const unknown = {
      ...alert,
      kind: 'nan_or_inf',
      nan: null,
      neg_inf: null,
      pos_inf: null,
    } as const;
    expect(describeAlert(unknown)).toBe('NaN or Inf');
  });

  it('shows the sentence of the server for gradual problems', () => {
    expect(describeAlert({ ...alert, kind: 'dead_units', message: 'All dead.' })).toBe('All dead.');
  });
});

describe('describeRootCause', () => {
  it('names the operation and the counts', () => {
    expect(describeRootCause(cause)).toBe(
      'Log “loss/Log” produced 1,234 NaN, 2 +Inf of 4,000 values',
    );
  });

  it('names the role of the tensor', () => {
    const gradient = { ...cause, role: 'gradient', op_type: '', op_name: 'fc.weight' };
    expect(describeRootCause(gradient)).toContain('The gradient of “fc.weight” contains');
  });

  it('describes gradual problems', () => {
    const dead = { ...cause, kind: 'dead_units', detail: '9 of 9 units are zero.' } as const;
    expect(describeRootCause(dead)).toBe('Dead units in Log “loss/Log”: 9 of 9 units are zero.');
  });
});

describe('formatting', () => {
  it('formats shapes', () => {
    expect(formatShape([32, null, 10])).toBe('32 × ? × 10');
    expect(formatShape([])).toBe('scalar');
    expect(formatShape(null)).toBe('');
  });

  it('finds file names on all platforms', () => {
    expect(getFileName('/home/me/train.py')).toBe('train.py');
    expect(getFileName('C:\\code\\train.py')).toBe('train.py');
  });

  it('does not repeat a type that is the name', () => {
    expect(getOpLabel('log', 'log')).toBe('“log”');
    expect(getOpLabel('MatMul', '')).toBe('MatMul');
  });
});
