import { describe, expect, it } from 'vitest';

import { brightnessOf, shadesFor } from './ramp';

const colourAt = (paper: string, at: number): string =>
  `rgb(${[...shadesFor(paper).subarray(4 * at, 4 * at + 3)].join(', ')})`;

describe.each([
  ['#ffffff', -1],
  ['rgb(26, 26, 33)', 1],
])('shades on %s', (paper, sign) => {
  it('begin with the paper', () => {
    expect(brightnessOf(colourAt(paper, 0))).toBeCloseTo(brightnessOf(paper), 2);
  });

  it('only ever go one way, in steps that look alike', () => {
    const lights = Array.from({ length: 16 }, (_, at) => brightnessOf(colourAt(paper, at * 17)));
    const steps = lights.slice(1).map((light, at) => sign * (light - (lights[at] ?? 0)));
    expect(Math.min(...steps)).toBeGreaterThan(0.02);
    expect(Math.max(...steps)).toBeLessThan(0.09);
  });

  it('are all there, and opaque', () => {
    expect(shadesFor(paper)).toHaveLength(1024);
    expect(shadesFor(paper).filter((_, at) => at % 4 === 3)).toEqual(
      new Uint8ClampedArray(256).fill(255),
    );
  });
});

it('knows how light colours look, however they are written', () => {
  expect(brightnessOf('#fff')).toBeCloseTo(1, 3);
  expect(brightnessOf('rgb(255, 255, 255)')).toBeCloseTo(1, 3);
  expect(brightnessOf('#000000')).toBe(0);
});
