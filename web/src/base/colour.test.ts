import { expect, test } from 'vitest';

import {
  assignColours,
  contrast,
  isValidation,
  RUN_COLOURS,
  runColour,
  scaleColour,
} from './colour';

test('there are enough colours, all different and all seen on both backgrounds', () => {
  expect(new Set(RUN_COLOURS).size).toBeGreaterThanOrEqual(20);
  for (const colour of RUN_COLOURS) {
    for (const background of ['#ffffff', '#121217']) {
      expect(contrast(colour, background), `${colour} on ${background}`).toBeGreaterThan(3);
    }
  }
});

test('a run keeps its colour for good', () => {
  expect(runColour('conv/lr1e-3')).toBe(runColour('conv/lr1e-3'));
  // Changing these changes the colours of everyone's runs.
  expect(['conv/lr1e-3', 'train', 'run_7', ''].map(runColour)).toMatchInlineSnapshot(`
    [
      "#7a5cc7",
      "#e2604f",
      "#2b7a5f",
      "#e2604f",
    ]
  `);
});

test('the runs of a sweep differ in colour', () => {
  const sweep = Array.from({ length: RUN_COLOURS.length }, (_, number) => `sweep/run_${number}`);
  expect(new Set(sweep.map(runColour)).size).toBe(RUN_COLOURS.length);
});

test('learning rates of all sizes differ in colour', () => {
  const rates = ['0.3', '0.1', '0.03', '0.01', '0.003', '0.001'].map((rate) => `sweep/lr=${rate}`);
  expect(new Set(rates.map(runColour)).size).toBe(rates.length);
});

test('the sizes that layers and batches have differ in colour', () => {
  const sizes = [16, 32, 64, 128, 256, 512, 1024, 2048].map((size) => `sweep/width-${size}`);
  expect(new Set(sizes.map(runColour)).size).toBe(sizes.length);
});

test('a small log has no two colours alike, and what comes later changes none', () => {
  const names = Array.from({ length: 40 }, (_, at) => `model-${at * 7}/lr${at}`);
  const few = assignColours(names.slice(0, RUN_COLOURS.length));
  expect(new Set(few.values()).size).toBe(RUN_COLOURS.length);
  const many = assignColours(names);
  for (const [name, colour] of few) expect(many.get(name)).toBe(colour);
  expect(many.get(names[39] ?? '')).toBeUndefined();
});

test('the oldest keeps its own colour, and halves of an experiment share one', () => {
  const colours = assignColours(['b/train', 'a', 'b/validation']);
  expect(colours.get('b/train')).toBe(runColour('b'));
  expect(colours.get('b/validation')).toBe(colours.get('b/train'));
  expect(colours.get('a')).toBe(runColour('a'));
});

test('training and validation of one experiment share a colour', () => {
  expect(runColour('a/lr=0.1/train')).toBe(runColour('a/lr=0.1/validation'));
  expect(runColour('a/lr=0.1/train')).toBe(runColour('a/lr=0.1'));
  expect(runColour('run7_eval')).toBe(runColour('run7'));
});

test('a very long number does not spoil the sum', () => {
  expect(RUN_COLOURS).toContain(runColour('9'.repeat(400)));
});

test.each([
  ['conv/validation', true],
  ['val', true],
  ['run-eval', true],
  ['run_test', true],
  ['train', false],
  ['evaluate_later', false],
  ['contest', false],
])('%s validates: %s', (name, expected) => {
  expect(isValidation(name)).toBe(expected);
});

test('contrast is that of WCAG', () => {
  expect(contrast('#000000', '#ffffff')).toBeCloseTo(21);
  expect(contrast('#777777', '#ffffff')).toBeCloseTo(4.48, 2);
});

test('every shade of the scale is seen on both backgrounds', () => {
  for (let place = 0; place <= 1; place += 0.01) {
    for (const background of ['#ffffff', '#121217']) {
      expect(contrast(scaleColour(place), background), `at ${place}`).toBeGreaterThan(3);
    }
  }
  expect([scaleColour(-1), scaleColour(2)]).toEqual([scaleColour(0), scaleColour(1)]);
});
