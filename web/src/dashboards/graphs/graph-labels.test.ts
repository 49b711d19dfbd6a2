import { expect, test } from 'vitest';

import { isKerasModel } from './graph-catalog.svelte';
import { listOverlayFields, overlayName } from './graph-labels';

const OVERLAYS = [
  { id: 'a1', name: 'latency.csv', columns: ['float: ms', 'int8'] },
  { id: 'b2', name: 'error.json', columns: ['value'] },
];

test('columns of uploaded data are named by their file', () => {
  expect(overlayName('a1:float: ms', OVERLAYS)).toBe('latency.csv · float: ms');
  expect(overlayName('b2:value', OVERLAYS)).toBe('error.json');
  expect(overlayName('gone:value', OVERLAYS)).toBe('gone:value');
});

test('a node has its value, or both and their difference', () => {
  const shown = { overlays: OVERLAYS, overlay: 'b2:value', overlayBaseline: null };
  expect(listOverlayFields(null, shown)).toEqual([]);
  expect(listOverlayFields({ value: 1.5, baseline: null }, shown)).toEqual([['error.json', '1.5']]);
  const compared = { ...shown, overlayBaseline: 'a1:int8' };
  expect(listOverlayFields({ value: 3, baseline: 1 }, compared).map(([, text]) => text)).toEqual([
    '3',
    '1',
    '2',
  ]);
  expect(listOverlayFields({ value: 3, baseline: null }, compared).map(([, text]) => text)).toEqual(
    ['3', '', ''],
  );
});

test('a Keras model is told from data of nodes', () => {
  expect(isKerasModel('{"class_name": "Functional", "config": {"layers": []}}')).toBe(true);
  expect(isKerasModel('{"config": 1.5, "conv": 2}')).toBe(false);
  expect(isKerasModel('{"conv": {"latency": 2}}')).toBe(false);
  expect(isKerasModel('[1, 2]')).toBe(false);
  expect(isKerasModel('not JSON')).toBe(false);
});
