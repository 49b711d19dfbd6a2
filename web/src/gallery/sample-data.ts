import type { Spectrogram, Waveform } from '../charts/audio/audio-layout';
import type { Band, Line, NumberArray, PointMarker } from '../charts/types';
import { RUN_COLORS } from '../lib/run-colors';

/** Generated curves that look like training curves, the same on every machine. */

export const RUN_NAMES = [
  'conv/bn-lr3e-3',
  'conv/lr1e-3',
  'conv/aug-lr1e-3',
  'dense/512-lr1e-3',
  'dense/512-lr3e-4',
  'dense/256-lr1e-3',
  'vit/tiny-lr3e-4',
  'vit/tiny-lr1e-4',
];

/** Return a seeded random number generator. */
export function makeRandom(seed: number): () => number {
  let state = seed + 0x6d2b79f5;
  return () => {
    state = Math.imul(state ^ (state >>> 15), state | 1);
    state ^= state + Math.imul(state ^ (state >>> 7), state | 61);
    return ((state ^ (state >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function getSampleColor(index: number): string {
  return RUN_COLORS[index % RUN_COLORS.length] ?? RUN_COLORS[0];
}

/** Return `count` increasing numbers from 0 to `last`. */
export function makeSteps(count: number, last = 10_000): Float64Array {
  return Float64Array.from({ length: count }, (_, at) => (at / (count - 1)) * last);
}

/** Return a noisy accuracy curve or, with `falls`, a loss curve. */
function makeMetric(index: number, count: number, falls: boolean): Float32Array {
  const noise = makeRandom(index * 7919 + (falls ? 5 : 31));
  return Float32Array.from({ length: count }, (_, at) => {
    const part = at / (count - 1);
    const shake = noise() - 0.5;
    if (falls)
      return 0.25 + 0.04 * index + 1.6 * Math.exp(-part * (3.2 + index / 4)) + shake * 0.16;
    return 0.92 - 0.012 * index - 0.35 * Math.exp(-part * (3 + index * 0.3)) + shake * 0.05;
  });
}

/** Return an exponential moving average. */
function smoothValues(values: Float32Array, weight = 0.85): Float32Array {
  let sum = 0;
  let total = 0;
  return values.map((value) => {
    sum = sum * weight + value * (1 - weight);
    total = total * weight + 1 - weight;
    return sum / total;
  });
}

export function makeLine(index: number, y: NumberArray, more: Partial<Line> = {}): Line {
  const name = RUN_NAMES[index % RUN_NAMES.length] ?? '';
  return {
    id: `${index}`,
    label: index < RUN_NAMES.length ? name : `${name}-${index}`,
    color: getSampleColor(index),
    dash: [],
    axis: 0,
    x: makeSteps(y.length),
    y,
    ...more,
  };
}

/** Return smoothed lines with raw values. */
export function makeLearningCurves(runs: number, count: number, falls: boolean): Line[] {
  return Array.from({ length: runs }, (_, index) => {
    const raw = makeMetric(index % 40, count, falls);
    return makeLine(index, smoothValues(raw), { raw });
  });
}

/** Return learning rates that decay over two decades. */
export function makeLearningRates(runs: number, count: number): Line[] {
  return Array.from({ length: runs }, (_, index) => {
    const start = 10 ** (-2 - (index % 3) * 0.25);
    const y = Float32Array.from({ length: count }, (_, at) => start * 10 ** (-1.6 * (at / count)));
    return makeLine(index, y);
  });
}

/** Return many overlapping lines. */
export function makeManyLines(runs: number, count: number): Line[] {
  return Array.from({ length: runs }, (_, index) => {
    const noise = makeRandom(index);
    const [pace, floor] = [2 + 4 * noise(), 0.1 + 0.5 * noise()];
    const y = Float32Array.from({ length: count }, (_, at) => {
      return floor + 1.6 * Math.exp((-at / count) * pace) + (noise() - 0.5) * 0.03;
    });
    return makeLine(index, y);
  });
}

/** Return lines with a minimum and maximum per pixel column. */
export function makeEnvelopeLines(): Line[] {
  return makeLearningCurves(3, 400, true).map((line, at) => {
    const noise = makeRandom(at);
    const low = line.y.map((y) => y - 0.05 - 0.1 * noise());
    const high = line.y.map((y) => y + 0.05 + 0.1 * noise() + (noise() > 0.995 ? 0.6 : 0));
    return { ...line, low, high };
  });
}

export function makeBands(): Band[] {
  return makeLearningCurves(3, 200, false).map(({ x, y }, at) => ({
    id: `${at}`,
    label: ['conv', 'dense', 'vit'][at] ?? '',
    color: getSampleColor(at),
    axis: 0,
    x,
    low: y.map((value) => value - 0.1 * at - 0.035),
    center: y.map((value) => value - 0.1 * at),
    high: y.map((value) => value - 0.1 * at + 0.03),
  }));
}

/** Return a line with a gap and all kinds of markers. */
export function makeMarkedLines(): Line[] {
  const [first, second] = makeLearningCurves(2, 121, true);
  if (!first || !second) return [];
  const y = first.y.map((value, at) => (at >= 60 && at < 66 ? NaN : value));
  const at = (index: number, kind: PointMarker['kind'], text: string): PointMarker => ({
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
  return [{ ...first, y, markers: marks }, second];
}

/** Return a run that was restarted twice. */
export function makeOverwrittenLine(): Line[] {
  return makeLearningCurves(1, 121, true).map((line) => {
    const piece = (from: number, to: number, lift: number): { x: Line['x']; y: Line['y'] } => ({
      x: line.x.slice(from, to),
      y: line.y.slice(from, to).map((y, at) => y + lift * at),
    });
    return { ...line, overwritten: [piece(40, 70, 0.01), piece(80, 95, -0.01)] };
  });
}

export function makeSpikyLines(): Line[] {
  return makeLearningCurves(3, 400, true).map((line, at) => {
    const noise = makeRandom(at + 100);
    return { ...line, y: line.y.map((y) => (noise() > 0.99 ? y * 60 : y)) };
  });
}

export function makeTwoAxisLines(): Line[] {
  const tokens = makeSteps(121).map((step) => 1.2e6 * (1 - Math.exp(-step / 3000)));
  const [loss] = makeLearningCurves(1, 121, true);
  return loss ? [loss, makeLine(1, tokens, { axis: 1, dash: [6, 4] })] : [];
}

/** Return lines over `span` seconds. */
export function makeTimedLines(start: number, span: number): Line[] {
  return makeLearningCurves(3, 121, true).map((line) => ({
    ...line,
    x: line.x.map((step) => start + (step / 10_000) * span),
  }));
}

/** Return accuracy over loss, both noisy. */
export function makeScatterLines(): Line[] {
  const accuracy = makeLearningCurves(3, 121, false);
  return makeLearningCurves(3, 121, true).map((line, at) => ({
    ...makeLine(at, accuracy[at]?.raw ?? line.y),
    x: line.raw ?? line.x,
    scatter: true,
  }));
}

export function makeBars(): { id: string; label: string; color: string; value: number }[] {
  const values = [0.9142, 0.9087, 0.9066, 0.8991, -0.12, NaN, 0.8712, 0.8655, 0.858];
  return values.map((value, at) => ({
    id: `${at}`,
    label: RUN_NAMES[at] ?? 'vit/base',
    color: getSampleColor(at),
    value,
  }));
}

const SAMPLE_RATE = 8000;
const AUDIO_COLUMNS = 600;
const SPECTROGRAM_ROWS = 128;

export const CLIP_DURATION_S = 2;

/** Return a stereo tone that swells and fades three times. */
export function makeWaveform(channels: number): Waveform {
  const heights = Float32Array.from({ length: AUDIO_COLUMNS }, (_, at) =>
    getAmplitudeAt(at / AUDIO_COLUMNS),
  );
  const channel = {
    low: heights.map((height) => -height),
    high: heights,
    rms: heights.map((height) => 0.6 * height),
  };
  return {
    sampleRate: SAMPLE_RATE,
    start: 0,
    stop: SAMPLE_RATE * CLIP_DURATION_S,
    channels: Array.from({ length: channels }, () => channel),
  };
}

/** Return a spectrogram with rising frequencies. */
export function makeSpectrogram(): Spectrogram {
  const levels = new Uint8Array(AUDIO_COLUMNS * SPECTROGRAM_ROWS);
  for (let row = 0; row < SPECTROGRAM_ROWS; row++)
    for (let column = 0; column < AUDIO_COLUMNS; column++) {
      const time = column / AUDIO_COLUMNS;
      const middle = 0.2 + 0.5 * ((3 * time) % 1);
      const away = Math.abs(row / SPECTROGRAM_ROWS - middle);
      levels[row * AUDIO_COLUMNS + column] = 60 + 190 * getAmplitudeAt(time) * Math.exp(-away * 18);
    }
  const size = { width: AUDIO_COLUMNS, height: SPECTROGRAM_ROWS, levels };
  const axis = { scale: 'mel', lowHz: 0, highHz: SAMPLE_RATE / 2, lowDb: -120, highDb: 0 } as const;
  return {
    sampleRate: SAMPLE_RATE,
    start: 0,
    stop: SAMPLE_RATE * CLIP_DURATION_S,
    ...axis,
    ...size,
  };
}

function getAmplitudeAt(time: number): number {
  return 0.1 + 0.8 * Math.sin(Math.PI * ((3 * time) % 1)) ** 2;
}
