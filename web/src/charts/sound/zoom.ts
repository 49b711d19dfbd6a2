import type { Span } from '../types';

/** No closer than so many samples. */
const FEWEST_FRAMES = 8;

/** What is seen after a zoom around a place; null is all of a clip of that length. */
export function zoomSpan(
  [low, high]: Span,
  at: number,
  factor: number,
  duration: number,
  sampleRate: number,
): Span | null {
  const shortest = Math.min(duration, FEWEST_FRAMES / sampleRate);
  const length = Math.min(duration, Math.max(shortest, (high - low) / factor));
  const share = high > low ? (at - low) / (high - low) : 0.5;
  return keepWithin([at - share * length, at + (1 - share) * length], duration);
}

export function panSpan([low, high]: Span, by: number, duration: number): Span | null {
  return keepWithin([low + by, high + by], duration);
}

function keepWithin([low, high]: Span, duration: number): Span | null {
  const length = high - low;
  if (length >= duration * (1 - 1e-9)) return null;
  const start = Math.max(0, Math.min(duration - length, low));
  return [start, start + length];
}
