/** Curves with what makes real ones hard to draw. */

import type { Band, Line, Mark } from '../charts/types';
import { colourOf, learningCurves, makeLine, NAMES, random, steps } from './samples';

/** Lines of so many points that each column of pixels has a lowest and a highest value. */
export function envelopes(): Line[] {
  return learningCurves(3, 400, true).map((line, at) => {
    const noise = random(at);
    const low = line.y.map((y) => y - 0.05 - 0.1 * noise());
    const high = line.y.map((y) => y + 0.05 + 0.1 * noise() + (noise() > 0.995 ? 0.6 : 0));
    return { ...line, low, high };
  });
}

export function bands(): Band[] {
  return learningCurves(3, 200, false).map(({ x, y }, at) => ({
    id: `${at}`,
    label: ['conv', 'dense', 'vit'][at] ?? '',
    colour: colourOf(at),
    axis: 0,
    x,
    low: y.map((value) => value - 0.1 * at - 0.035),
    center: y.map((value) => value - 0.1 * at),
    high: y.map((value) => value - 0.1 * at + 0.03),
  }));
}

/** A line with a gap, and marks for all that can be marked. */
export function marked(): Line[] {
  const [first, second] = learningCurves(2, 121, true);
  if (!first || !second) return [];
  const y = first.y.map((value, at) => (at >= 60 && at < 66 ? NaN : value));
  const at = (index: number, kind: Mark['kind'], text: string): Mark => ({
    x: first.x[index] ?? 0,
    y: y[index] ?? NaN,
    kind,
    text,
  });
  const marks = [
    at(60, 'nan', 'NaN at step 5,000'),
    at(64, 'inf', '∞ at step 5,333'),
    at(30, '-inf', '−∞ at step 2,500'),
    at(0, 'max', 'highest'),
    at(110, 'min', 'lowest'),
    at(120, 'last', 'last'),
  ];
  return [{ ...first, y, marks }, second];
}

/** A run that went on from a checkpoint twice. */
export function overwritten(): Line[] {
  return learningCurves(1, 121, true).map((line) => {
    const piece = (from: number, to: number, lift: number): { x: Line['x']; y: Line['y'] } => ({
      x: line.x.slice(from, to),
      y: line.y.slice(from, to).map((y, at) => y + lift * at),
    });
    return { ...line, faded: [piece(40, 70, 0.01), piece(80, 95, -0.01)] };
  });
}

export function spiky(): Line[] {
  return learningCurves(3, 400, true).map((line, at) => {
    const noise = random(at + 100);
    return { ...line, y: line.y.map((y) => (noise() > 0.99 ? y * 60 : y)) };
  });
}

export function twoAxes(): Line[] {
  const tokens = steps(121).map((step) => 1.2e6 * (1 - Math.exp(-step / 3000)));
  const [loss] = learningCurves(1, 121, true);
  return loss ? [loss, makeLine(1, tokens, { axis: 1, dash: [6, 4] })] : [];
}

/** Lines over `span` seconds from a time on. */
export function timed(start: number, span: number): Line[] {
  return learningCurves(3, 121, true).map((line) => ({
    ...line,
    x: line.x.map((step) => start + (step / 10_000) * span),
  }));
}

/** Accuracy over loss: both of them shake. */
export function scatter(): Line[] {
  const accuracy = learningCurves(3, 121, false);
  return learningCurves(3, 121, true).map((line, at) => ({
    ...makeLine(at, accuracy[at]?.raw ?? line.y),
    x: line.raw ?? line.x,
    scatter: true,
  }));
}

export function bars(): { id: string; label: string; colour: string; value: number }[] {
  const values = [0.9142, 0.9087, 0.9066, 0.8991, -0.12, NaN, 0.8712, 0.8655, 0.858];
  return values.map((value, at) => ({
    id: `${at}`,
    label: NAMES[at] ?? 'vit/base',
    colour: colourOf(at),
    value,
  }));
}
