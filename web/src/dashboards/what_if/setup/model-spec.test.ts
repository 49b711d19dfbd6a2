import { describe, expect, it, test } from 'vitest';

import { isComplete, isSameList, makeModelForm, makeModelSpec, splitLines } from './model-spec';

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

test('a second model of the same name gets its version or a number', () => {
  const form = { ...makeModelForm(), address: 'localhost:8500', model: 'census', version: '3' };
  const spec = makeModelSpec(form, ['census']);
  expect(spec).toMatchObject({ name: 'census v3', model: 'census', version: 3 });
  expect(makeModelSpec(form, ['census', 'census v3']).name).toBe('census 2');
  const latest = { ...form, version: '' };
  expect(makeModelSpec(latest, ['census', 'census 2']).name).toBe('census 3');
  expect(makeModelSpec({ ...form, name: 'census' }, ['census']).name).toBe('census');
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

describe('class names', () => {
  it('are the lines of a text, without empty lines at the end', () => {
    expect(splitLines(' no \nyes\n\n')).toEqual(['no', 'yes']);
    expect(splitLines('')).toEqual([]);
    // A name is missing; the server says so.
    expect(splitLines('a\n\nb')).toEqual(['a', '', 'b']);
  });

  it('are compared in order', () => {
    expect(isSameList(['a', 'b'], ['a', 'b'])).toBe(true);
    expect(isSameList(['a', 'b'], ['b', 'a'])).toBe(false);
    expect(isSameList(['a'], ['a', 'b'])).toBe(false);
  });
});
