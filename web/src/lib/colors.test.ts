import { describe, expect, it, test } from 'vitest';

import {
  assignRunColors,
  contrast,
  getLightness,
  getRunColor,
  getSequentialRamp,
  interpolateColor,
  isEvaluationRun,
  RUN_COLORS,
} from './colors';

test('there are enough colours, all different and all seen on both backgrounds', () => {
  expect(new Set(RUN_COLORS).size).toBeGreaterThanOrEqual(20);
  for (const colour of RUN_COLORS) {
    for (const background of ['#ffffff', '#121217']) {
      expect(contrast(colour, background), `${colour} on ${background}`).toBeGreaterThan(3);
    }
  }
});

test('a run keeps its colour for good', () => {
  expect(getRunColor('conv/lr1e-3')).toBe(getRunColor('conv/lr1e-3'));
  // Changing these changes the colours of everyone's runs.
  expect(['conv/lr1e-3', 'train', 'run_7', ''].map(getRunColor)).toMatchInlineSnapshot(`
    [
      "#7a5cc7",
      "#e2604f",
      "#2b7a5f",
      "#e2604f",
    ]
  `);
});

test('the runs of a sweep differ in colour', () => {
  const sweep = Array.from({ length: RUN_COLORS.length }, (_, number) => `sweep/run_${number}`);
  expect(new Set(sweep.map(getRunColor)).size).toBe(RUN_COLORS.length);
});

test('learning rates of all sizes differ in colour', () => {
  const rates = ['0.3', '0.1', '0.03', '0.01', '0.003', '0.001'].map((rate) => `sweep/lr=${rate}`);
  expect(new Set(rates.map(getRunColor)).size).toBe(rates.length);
});

test('the sizes that layers and batches have differ in colour', () => {
  const sizes = [16, 32, 64, 128, 256, 512, 1024, 2048].map((size) => `sweep/width-${size}`);
  expect(new Set(sizes.map(getRunColor)).size).toBe(sizes.length);
});

test('a small log has no two colours alike, and what comes later changes none', () => {
  const names = Array.from({ length: 40 }, (_, at) => `model-${at * 7}/lr${at}`);
  const few = assignRunColors(names.slice(0, RUN_COLORS.length));
  expect(new Set(few.values()).size).toBe(RUN_COLORS.length);
  const many = assignRunColors(names);
  for (const [name, colour] of few) expect(many.get(name)).toBe(colour);
  expect(many.get(names[39] ?? '')).toBeUndefined();
});

test('the oldest keeps its own colour, and halves of an experiment share one', () => {
  const colours = assignRunColors(['b/train', 'a', 'b/validation']);
  expect(colours.get('b/train')).toBe(getRunColor('b'));
  expect(colours.get('b/validation')).toBe(colours.get('b/train'));
  expect(colours.get('a')).toBe(getRunColor('a'));
});

test('training and validation of one experiment share a colour', () => {
  expect(getRunColor('a/lr=0.1/train')).toBe(getRunColor('a/lr=0.1/validation'));
  expect(getRunColor('a/lr=0.1/train')).toBe(getRunColor('a/lr=0.1'));
  expect(getRunColor('run7_eval')).toBe(getRunColor('run7'));
});

test('a very long number does not spoil the sum', () => {
  expect(RUN_COLORS).toContain(getRunColor('9'.repeat(400)));
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
  expect(isEvaluationRun(name)).toBe(expected);
});

test('contrast is that of WCAG', () => {
  expect(contrast('#000000', '#ffffff')).toBeCloseTo(21);
  expect(contrast('#777777', '#ffffff')).toBeCloseTo(4.48, 2);
});

test('every shade of the scale is seen on both backgrounds', () => {
  for (let place = 0; place <= 1; place += 0.01) {
    for (const background of ['#ffffff', '#121217']) {
      expect(contrast(interpolateColor(place), background), `at ${place}`).toBeGreaterThan(3);
    }
  }
  expect([interpolateColor(-1), interpolateColor(2)]).toEqual([
    interpolateColor(0),
    interpolateColor(1),
  ]);
});

const rampColorAt = (paper: string, at: number): string =>
  `rgb(${[...getSequentialRamp(paper).subarray(4 * at, 4 * at + 3)].join(', ')})`;

describe.each([
  ['#ffffff', -1],
  ['rgb(26, 26, 33)', 1],
])('shades on %s', (paper, sign) => {
  it('begin with the paper', () => {
    expect(getLightness(rampColorAt(paper, 0))).toBeCloseTo(getLightness(paper), 2);
  });

  it('only ever go one way, in steps that look alike', () => {
    const lights = Array.from({ length: 16 }, (_, at) => getLightness(rampColorAt(paper, at * 17)));
    const steps = lights.slice(1).map((light, at) => sign * (light - (lights[at] ?? 0)));
    expect(Math.min(...steps)).toBeGreaterThan(0.02);
    expect(Math.max(...steps)).toBeLessThan(0.09);
  });

  it('are all there, and opaque', () => {
    expect(getSequentialRamp(paper)).toHaveLength(1024);
    expect(getSequentialRamp(paper).filter((_, at) => at % 4 === 3)).toEqual(
      new Uint8ClampedArray(256).fill(255),
    );
  });
});

it('knows how light colours look, however they are written', () => {
  expect(getLightness('#fff')).toBeCloseTo(1, 3);
  expect(getLightness('rgb(255, 255, 255)')).toBeCloseTo(1, 3);
  expect(getLightness('#000000')).toBe(0);
});
