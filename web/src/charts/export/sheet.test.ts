import { expect, test } from 'vitest';

import type { Line } from '../types';
import { type Sheet, sheetToSvg } from './sheet';

const widthOf = (text: string): number => text.length * 6;

function line(id: string, axis: 0 | 1 = 0): Line {
  const x = Float64Array.of(0, 50, 100);
  const y = Float32Array.of(0.1, 0.5, 0.9);
  return { id, label: id, colour: '#4269d0', dash: [6, 4], axis, x, y };
}

function sheet(lines: readonly Line[], more: Partial<Sheet> = {}): Sheet {
  return {
    title: 'loss',
    xLabel: 'step',
    yLabel: 'nats',
    y2Label: 'tokens',
    lines,
    bands: [],
    flags: [{ id: '1', x: 50, text: 'lr < 1e-3' }],
    plan: {
      x: { kind: 'linear', domain: [0, 100], format: 'step' },
      y: { kind: 'linear', domain: [0, 1] },
      y2: null,
    },
    ...more,
  };
}

const textsIn = (svg: string): string[] =>
  [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, text]) => text ?? '');

test('a sheet says what it shows: title, axes, names, flags', () => {
  const texts = textsIn(sheetToSvg(sheet([line('conv'), line('dense')]), widthOf));
  for (const word of ['loss', 'step', 'nats', 'conv', 'dense', 'lr &#60; 1e-3', '100', '1.0'])
    expect(texts).toContain(word);
  expect(texts).not.toContain('tokens');
});

test('the right axis is named where there is one', () => {
  const plan = { ...sheet([]).plan, y2: { kind: 'linear', domain: [0, 5] } as const };
  const texts = textsIn(sheetToSvg(sheet([line('a'), line('b', 1)], { plan }), widthOf));
  expect(texts).toContain('tokens');
});

test('of hundreds of lines the first are named and the rest is counted', () => {
  const lines = Array.from({ length: 500 }, (_, at) => line(`run_${at}`));
  const texts = textsIn(sheetToSvg(sheet(lines), widthOf));
  expect(texts).toContain('run_59');
  expect(texts).not.toContain('run_60');
  expect(texts).toContain('and 440 more');
});

test('names that fill a row go on in the next one, and the sheet is higher', () => {
  const heightOf = (svg: string): number => Number(/height="(\d+)"/.exec(svg)?.[1]);
  const few = heightOf(sheetToSvg(sheet([line('a')]), widthOf));
  const many = heightOf(
    sheetToSvg(sheet(Array.from({ length: 30 }, () => line('a-long-name'))), widthOf),
  );
  expect(many).toBeGreaterThan(few);
});

test('dashes are kept', () => {
  expect(sheetToSvg(sheet([line('a')]), widthOf)).toContain('stroke-dasharray="6 4"');
});
