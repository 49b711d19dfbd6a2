import { expect, test } from 'vitest';

import type { Span } from '../types';
import { niceSpan, niceStep, ticksOf } from './ticks';

function texts(domain: Span, count: number, kind: 'linear' | 'log' = 'linear'): string[] {
  return ticksOf(kind, 'number', domain, count).map(({ text }) => text);
}

test.each([
  [10, 5, 2],
  [1, 5, 0.2],
  [0.6, 4, 0.2],
  [100, 10, 10],
  [7, 1, 5],
])('a span of %d in about %d parts has steps of %d', (span, count, step) => {
  expect(niceStep(span, count)).toBeCloseTo(step, 12);
});

test('numbers of one axis have the same digits, and zero has none', () => {
  expect(texts([0.4, 1], 6)).toEqual(['0.4', '0.5', '0.6', '0.7', '0.8', '0.9', '1.0']);
  expect(texts([0, 2.5], 5)).toEqual(['0', '0.5', '1.0', '1.5', '2.0', '2.5']);
  expect(texts([-0.1, 0.1], 4)).toEqual(['−0.10', '−0.05', '0', '0.05', '0.10']);
});

test('large numbers are in one unit, small ones have an exponent', () => {
  expect(texts([0, 10_000], 5)).toEqual(['0', '2k', '4k', '6k', '8k', '10k']);
  expect(texts([0, 2e6], 4)).toEqual(['0', '0.5M', '1.0M', '1.5M', '2.0M']);
  expect(texts([0, 4e-5], 4)).toEqual(['0', '1e-5', '2e-5', '3e-5', '4e-5']);
  expect(texts([1e-4, 1.5e-4], 5)).toEqual([
    '1e-4',
    '1.1e-4',
    '1.2e-4',
    '1.3e-4',
    '1.4e-4',
    '1.5e-4',
  ]);
});

test('beyond a trillion numbers have an exponent', () => {
  expect(texts([0, 4e18], 4)).toEqual(['0', '1e18', '2e18', '3e18', '4e18']);
  expect(texts([1e12, 1e18], 3, 'log')).toEqual(['1T', '100T', '1e16', '1e18']);
});

test('between steps there is nothing', () => {
  const steps = ticksOf('linear', 'step', [76, 78], 8).map(({ text }) => text);
  expect(steps).toEqual(['76', '77', '78']);
});

test('ticks carry no dust of binary fractions', () => {
  const values = ticksOf('linear', 'number', [0, 1], 10).map(({ value }) => value);
  expect(values).toEqual([0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]);
});

test('close to the limits of numbers there are still few ticks', () => {
  expect(texts([1, 1 + 1e-15], 5).length).toBeLessThan(20);
  expect(texts([-1e308, 1e308], 5).length).toBeLessThan(20);
  expect(texts([5e-324, 1e-323], 5).length).toBeLessThan(20);
});

test('a log axis has powers of ten, and more where there is room', () => {
  expect(texts([1e-4, 1e-2], 2, 'log')).toEqual(['1e-4', '1e-3', '0.01']);
  expect(texts([1e-4, 1e-2], 5, 'log')).toEqual(['1e-4', '3e-4', '1e-3', '3e-3', '0.01']);
  expect(texts([1, 100], 6, 'log')).toEqual(['1', '2', '5', '10', '20', '50', '100']);
  expect(texts([1, 1e6], 3, 'log')).toEqual(['1', '100', '10k', '1M']);
});

test('a log axis within one decade has plain numbers', () => {
  expect(texts([2, 8], 3, 'log')).toEqual(['2', '4', '6', '8']);
});

test('the ends of a widened span have ticks', () => {
  for (let high = 1.01; high < 99; high *= 1.013) {
    const [from, to] = niceSpan([0.1, high], 4);
    const values = ticksOf('linear', 'number', [from, to], 4).map(({ value }) => value);
    expect(values[0]).toBe(from);
    expect(values.at(-1)).toBe(to);
  }
});

test('a span is widened to round numbers around it', () => {
  expect(niceSpan([0.03, 0.97], 5)).toEqual([0, 1]);
  expect(niceSpan([-3.2, 7.1], 5)).toEqual([-4, 8]);
  expect(niceSpan([0.2, 0.2], 5)).toEqual([0.2, 0.2]);
});
