import { expect, test } from 'vitest';

import { isComplete, makeModelForm, makeModelSpec } from './model-spec';

test('a served model has the name of the server unless one is given', () => {
  const form = { ...makeModelForm(), address: 'localhost:8500', model: 'census', version: '3' };
  expect(makeModelSpec(form)).toEqual({
    type: 'grpc',
    name: 'census',
    address: 'localhost:8500',
    model: 'census',
    version: 3,
    signature: null,
    method: 'classify',
    input: null,
    output: null,
    timeout_s: 30,
  });
  expect(makeModelSpec({ ...form, name: 'new' }).name).toBe('new');
  expect(isComplete(form)).toBe(true);
  expect(isComplete({ ...form, model: '' })).toBe(false);
});

test('columns are separated by commas', () => {
  const form = { ...makeModelForm(), kind: 'columns' as const, columns: 'p0, p1,' };
  expect(makeModelSpec(form)).toEqual({ type: 'columns', name: 'columns', columns: ['p0', 'p1'] });
});

test('a file has its own name', () => {
  const form = { ...makeModelForm(), kind: 'file' as const, path: 'models/a.onnx' };
  expect(makeModelSpec(form)).toEqual({
    type: 'file',
    name: 'a.onnx',
    path: 'models/a.onnx',
    output: 'probabilities',
  });
});
