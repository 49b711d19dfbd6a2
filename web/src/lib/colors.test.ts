import { differenceCiede2000, filterDeficiencyDeuter, filterDeficiencyProt, parse } from 'culori';
import { describe, expect, it, test } from 'vitest';

import fixture from './run-colors.fixture.json';
import {
  assignRunColors,
  contrast,
  getLightness,
  getReadableTextColor,
  getRunColor,
  getSequentialRamp,
  interpolateColor,
  isEvaluationRun,
  mixColors,
  parseRgb,
  RUN_COLORS,
  setExportedColors,
  toPixel,
} from './colors';

test('there are enough colors, all different and all visible on both backgrounds', () => {
  expect(new Set(RUN_COLORS).size).toBeGreaterThanOrEqual(20);
  for (const color of RUN_COLORS) {
    for (const background of ['#ffffff', '#121217']) {
      expect(contrast(color, background), `${color} on ${background}`).toBeGreaterThan(3);
    }
  }
});

test('a run always has the same color', () => {
  expect(getRunColor('conv/lr1e-3')).toBe(getRunColor('conv/lr1e-3'));
  // A change here changes the run colors of existing logs.
  expect(['conv/lr1e-3', 'train', 'run_7', ''].map(getRunColor)).toMatchInlineSnapshot(`
    [
      "#7a5cc7",
      "#e2604f",
      "#2b7a5f",
      "#e2604f",
    ]
  `);
});

test('runs of a sweep have different colors', () => {
  const sweep = Array.from({ length: RUN_COLORS.length }, (_, number) => `sweep/run_${number}`);
  expect(new Set(sweep.map(getRunColor)).size).toBe(RUN_COLORS.length);
});

test('learning rates of all magnitudes have different colors', () => {
  const rates = ['0.3', '0.1', '0.03', '0.01', '0.003', '0.001'].map((rate) => `sweep/lr=${rate}`);
  expect(new Set(rates.map(getRunColor)).size).toBe(rates.length);
});

test('typical layer and batch sizes have different colors', () => {
  const sizes = [16, 32, 64, 128, 256, 512, 1024, 2048].map((size) => `sweep/width-${size}`);
  expect(new Set(sizes.map(getRunColor)).size).toBe(sizes.length);
});

test('runs of a small log have distinct colors, which later runs do not change', () => {
  const names = Array.from({ length: 40 }, (_, at) => `model-${at * 7}/lr${at}`);
  const few = assignRunColors(names.slice(0, RUN_COLORS.length));
  expect(new Set(few.values()).size).toBe(RUN_COLORS.length);
  const many = assignRunColors(names);
  for (const [name, color] of few) expect(many.get(name)).toBe(color);
  expect(many.get(names[39] ?? '')).toBeUndefined();
});

test('train and validation runs share an assigned color', () => {
  const colors = assignRunColors(['b/train', 'a', 'b/validation']);
  expect(colors.get('b/validation')).toBe(colors.get('b/train'));
  expect(colors.get('a')).not.toBe(colors.get('b/train'));
});

test('a small log has colors that are easily told apart', () => {
  const names = Array.from({ length: 8 }, (_, at) => `run-${at * 11}`);
  const colors = [...new Set(assignRunColors(names).values())];
  expect(colors).toHaveLength(8);
  const difference = differenceCiede2000();
  const blind = [filterDeficiencyDeuter(1), filterDeficiencyProt(1)];
  const simulate = (filter: (typeof blind)[number], color: string) =>
    filter(parse(color) ?? { mode: 'rgb', r: 0, g: 0, b: 0 });
  for (const [at, one] of colors.entries())
    for (const other of colors.slice(0, at)) {
      expect(difference(one, other), `${one} ${other}`).toBeGreaterThan(18);
      for (const filter of blind)
        expect(difference(simulate(filter, one), simulate(filter, other))).toBeGreaterThan(7);
    }
});

test('an export keeps the colors of its log', () => {
  setExportedColors(new Map([['a', '#123456']]));
  expect(assignRunColors(['a', 'b'])).toEqual(new Map([['a', '#123456']]));
  setExportedColors(null);
});

test('colors are those of the fixture, which the server is compared with', () => {
  const names = ['b/train', 'a', 'b/validation', 'lr=0.001', 'lr=0.01', 'lr=0.1', 'x10', 'x007'];
  names.push('模型/1', 'seed0', 'seed00', 'conv_val', 'big-1234567890');
  expect(Object.fromEntries(assignRunColors(names))).toEqual(fixture);
});

test('train and validation runs of an experiment share a color', () => {
  expect(getRunColor('a/lr=0.1/train')).toBe(getRunColor('a/lr=0.1/validation'));
  expect(getRunColor('a/lr=0.1/train')).toBe(getRunColor('a/lr=0.1'));
  expect(getRunColor('run7_eval')).toBe(getRunColor('run7'));
});

test('very long numbers are supported', () => {
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

test('contrast follows WCAG', () => {
  expect(contrast('#000000', '#ffffff')).toBeCloseTo(21);
  expect(contrast('#777777', '#ffffff')).toBeCloseTo(4.48, 2);
});

test('every color of the scale is visible on both backgrounds', () => {
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

const rampColorAt = (background: string, at: number): string =>
  `rgb(${[...getSequentialRamp(background).subarray(4 * at, 4 * at + 3)].join(', ')})`;

describe.each([
  ['#ffffff', -1],
  ['rgb(26, 26, 33)', 1],
])('sequential ramp on %s', (background, sign) => {
  it('start with the background', () => {
    expect(getLightness(rampColorAt(background, 0))).toBeCloseTo(getLightness(background), 2);
  });

  it('are monotonic in lightness, in perceptually equal steps', () => {
    const lights = Array.from({ length: 16 }, (_, at) =>
      getLightness(rampColorAt(background, at * 17)),
    );
    const steps = lights.slice(1).map((light, at) => sign * (light - (lights[at] ?? 0)));
    expect(Math.min(...steps)).toBeGreaterThan(0.02);
    expect(Math.max(...steps)).toBeLessThan(0.09);
  });

  it('have 256 opaque entries', () => {
    expect(getSequentialRamp(background)).toHaveLength(1024);
    expect(getSequentialRamp(background).filter((_, at) => at % 4 === 3)).toEqual(
      new Uint8ClampedArray(256).fill(255),
    );
  });
});

it('lightness is known for all color notations', () => {
  expect(getLightness('#fff')).toBeCloseTo(1, 3);
  expect(getLightness('rgb(255, 255, 255)')).toBeCloseTo(1, 3);
  expect(getLightness('#000000')).toBe(0);
});

it('parses hex, rgb() and color() notations', () => {
  for (const color of ['#4269d0', 'rgb(66, 105, 208)', 'color(srgb 0.25882 0.41176 0.81569)'])
    expect(parseRgb(color).map(Math.round)).toEqual([66, 105, 208]);
  expect(parseRgb('#fff')).toEqual([255, 255, 255]);
  expect(parseRgb('not a color')).toEqual([0, 0, 0]);
});

it('mixes colors, packs pixels and chooses readable text', () => {
  expect(mixColors('#000000', '#ffffff', 0.5)).toBe('#808080');
  expect(toPixel('#010203')).toBe(0xff030201);
  expect([getReadableTextColor('#101010'), getReadableTextColor('#f5b14c')]).toEqual([
    '#ffffff',
    '#1c1c22',
  ]);
});
