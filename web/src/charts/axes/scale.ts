import type { ScaleType, NumberRange } from '../types';

/** Maps values to pixels and back. */
export interface Scale {
  readonly kind: ScaleType;
  readonly domain: NumberRange;
  readonly range: NumberRange;
  /** Return the pixel of a value. Values that a log scale cannot show are far below it. */
  toPixel(value: number): number;
  toValue(pixel: number): number;
}

/** Outside of any screen, but canvases still draw lines to it. */
const MAX_PIXEL = 1e7;

export function makeScale(kind: ScaleType, domain: NumberRange, range: NumberRange): Scale {
  return kind === 'log' ? makeLogScale(domain, range) : makeLinearScale(domain, range);
}

function makeLinearScale(domain: NumberRange, range: NumberRange): Scale {
  const [low, high] = domain;
  const [from, to] = range;
  const slope = high === low ? 0 : (to - from) / (high - low);
  return {
    kind: 'linear',
    domain,
    range,
    toPixel: (value) => clampPixel(from + (value - low) * slope),
    toValue: (pixel) => (slope === 0 ? low : low + (pixel - from) / slope),
  };
}

function makeLogScale(domain: NumberRange, range: NumberRange): Scale {
  const [from, to] = range;
  const low = Math.log10(domain[0]);
  const high = Math.log10(domain[1]);
  const slope = high === low ? 0 : (to - from) / (high - low);
  const below = from - Math.sign(to - from) * MAX_PIXEL;
  return {
    kind: 'log',
    domain,
    range,
    toPixel: (value) => (value <= 0 ? below : clampPixel(from + (Math.log10(value) - low) * slope)),
    toValue: (pixel) => 10 ** (slope === 0 ? low : low + (pixel - from) / slope),
  };
}

function clampPixel(pixel: number): number {
  if (pixel > MAX_PIXEL) return MAX_PIXEL;
  return pixel < -MAX_PIXEL ? -MAX_PIXEL : pixel;
}
