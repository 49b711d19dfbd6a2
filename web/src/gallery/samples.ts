/** Curves that look like those of training, the same on every machine. */

import { RUN_COLOURS } from '../base/colour';
import type { Line, Numbers } from '../charts/types';

export const NAMES = [
  'conv/bn-lr3e-3',
  'conv/lr1e-3',
  'conv/aug-lr1e-3',
  'dense/512-lr1e-3',
  'dense/512-lr3e-4',
  'dense/256-lr1e-3',
  'vit/tiny-lr3e-4',
  'vit/tiny-lr1e-4',
];

/** Numbers between 0 and 1 that a seed decides. */
export function random(seed: number): () => number {
  let state = seed + 0x6d2b79f5;
  return () => {
    state = Math.imul(state ^ (state >>> 15), state | 1);
    state ^= state + Math.imul(state ^ (state >>> 7), state | 61);
    return ((state ^ (state >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function colourOf(index: number): string {
  return RUN_COLOURS[index % RUN_COLOURS.length] ?? RUN_COLOURS[0];
}

/** `count` rising numbers from 0 to `last`. */
export function steps(count: number, last = 10_000): Float64Array {
  return Float64Array.from({ length: count }, (_, at) => (at / (count - 1)) * last);
}

/** An accuracy that rises, or with `falls` a loss that falls, and is noisy. */
function learn(index: number, count: number, falls: boolean): Float32Array {
  const noise = random(index * 7919 + (falls ? 5 : 31));
  return Float32Array.from({ length: count }, (_, at) => {
    const part = at / (count - 1);
    const shake = noise() - 0.5;
    if (falls)
      return 0.25 + 0.04 * index + 1.6 * Math.exp(-part * (3.2 + index / 4)) + shake * 0.16;
    return 0.92 - 0.012 * index - 0.35 * Math.exp(-part * (3 + index * 0.3)) + shake * 0.05;
  });
}

/** A running mean that forgets. */
function smooth(values: Float32Array, weight = 0.85): Float32Array {
  let sum = 0;
  let total = 0;
  return values.map((value) => {
    sum = sum * weight + value * (1 - weight);
    total = total * weight + 1 - weight;
    return sum / total;
  });
}

export function makeLine(index: number, y: Numbers, more: Partial<Line> = {}): Line {
  const name = NAMES[index % NAMES.length] ?? '';
  return {
    id: `${index}`,
    label: index < NAMES.length ? name : `${name}-${index}`,
    colour: colourOf(index),
    dash: [],
    axis: 0,
    x: steps(y.length),
    y,
    ...more,
  };
}

/** Smoothed lines with their raw values behind them. */
export function learningCurves(runs: number, count: number, falls: boolean): Line[] {
  return Array.from({ length: runs }, (_, index) => {
    const raw = learn(index % 40, count, falls);
    return makeLine(index, smooth(raw), { raw });
  });
}

/** Learning rates that decay over two decades. */
export function learningRates(runs: number, count: number): Line[] {
  return Array.from({ length: runs }, (_, index) => {
    const start = 10 ** (-2 - (index % 3) * 0.25);
    const y = Float32Array.from({ length: count }, (_, at) => start * 10 ** (-1.6 * (at / count)));
    return makeLine(index, y);
  });
}

/** So many lines that none can be told from the others. */
export function crowd(runs: number, count: number): Line[] {
  return Array.from({ length: runs }, (_, index) => {
    const noise = random(index);
    const [pace, floor] = [2 + 4 * noise(), 0.1 + 0.5 * noise()];
    const y = Float32Array.from({ length: count }, (_, at) => {
      return floor + 1.6 * Math.exp((-at / count) * pace) + (noise() - 0.5) * 0.03;
    });
    return makeLine(index, y);
  });
}
