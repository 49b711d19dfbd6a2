import type { ScaleKind, Span } from '../types';

/** Values to pixels and back. */
export interface Scale {
  readonly kind: ScaleKind;
  readonly domain: Span;
  readonly range: Span;
  /** The pixel of a value. What a log scale cannot show lies far beyond its lower end. */
  at(value: number): number;
  valueAt(pixel: number): number;
}

/** Further away than any screen, and still a number that canvases draw lines to. */
const FAR = 1e7;

export function makeScale(kind: ScaleKind, domain: Span, range: Span): Scale {
  return kind === 'log' ? logScale(domain, range) : linearScale(domain, range);
}

function linearScale(domain: Span, range: Span): Scale {
  const [low, high] = domain;
  const [from, to] = range;
  const slope = high === low ? 0 : (to - from) / (high - low);
  return {
    kind: 'linear',
    domain,
    range,
    at: (value) => clamp(from + (value - low) * slope),
    valueAt: (pixel) => (slope === 0 ? low : low + (pixel - from) / slope),
  };
}

function logScale(domain: Span, range: Span): Scale {
  const [from, to] = range;
  const low = Math.log10(domain[0]);
  const high = Math.log10(domain[1]);
  const slope = high === low ? 0 : (to - from) / (high - low);
  const below = from - Math.sign(to - from) * FAR;
  return {
    kind: 'log',
    domain,
    range,
    at: (value) => (value <= 0 ? below : clamp(from + (Math.log10(value) - low) * slope)),
    valueAt: (pixel) => 10 ** (slope === 0 ? low : low + (pixel - from) / slope),
  };
}

function clamp(pixel: number): number {
  if (pixel > FAR) return FAR;
  return pixel < -FAR ? -FAR : pixel;
}
