import { makeScale } from '../axis/scale';
import { type Tick, ticksOf } from '../axis/ticks';
import type { Box, Pen } from '../pen/pen';
import { type Axis, LABEL_SIZE, type Size } from '../picture/layout';
import type { Span } from '../types';

/** Where everything goes: one box a channel, the spectrogram below them, seconds at the foot. */
export interface SoundLayout {
  readonly size: Size;
  /** All boxes together. */
  readonly frame: Box;
  readonly waves: readonly Box[];
  readonly spectrum: Box | null;
  readonly x: Axis;
}

export interface SoundPlan {
  readonly channels: number;
  readonly hasSpectrum: boolean;
  /** What is seen, in seconds. */
  readonly span: Span;
}

const LEFT = 34;
const RIGHT = 8;
const TOP = 4;
const FOOT = 17;
const GAP = 5;
/** How much of the height waveforms have beside a spectrogram. */
const WAVE_SHARE = 0.4;
const BETWEEN_LABELS = 30;

export function layOutSound(plan: SoundPlan, size: Size, widthOf: Pen['widthOf']): SoundLayout {
  const width = Math.max(1, size.width - LEFT - RIGHT);
  const height = Math.max(1, size.height - TOP - FOOT);
  const frame = { left: LEFT, top: TOP, width, height };
  const waveHeight = plan.hasSpectrum ? Math.round(WAVE_SHARE * (height - GAP)) : height;
  const spectrum = { ...frame, top: TOP + waveHeight + GAP, height: height - waveHeight - GAP };
  return {
    size,
    frame,
    waves: stack({ ...frame, height: waveHeight }, plan.channels),
    spectrum: plan.hasSpectrum ? spectrum : null,
    x: {
      scale: makeScale('linear', plan.span, [LEFT, LEFT + width]),
      ticks: fitTicks(plan.span, width, widthOf),
    },
  };
}

function stack(box: Box, count: number): Box[] {
  const height = box.height / Math.max(1, count);
  return Array.from({ length: count }, (_, at) => ({ ...box, top: box.top + at * height, height }));
}

/** As many ticks as there is room for their words. */
function fitTicks(span: Span, width: number, widthOf: Pen['widthOf']): Tick[] {
  for (let count = Math.max(1, Math.round(width / 50)); count > 1; count--) {
    const ticks = ticksOf('linear', 'duration', span, count);
    const widest = Math.max(0, ...ticks.map(({ text }) => widthOf(text, { size: LABEL_SIZE })));
    if (ticks.length * (widest + BETWEEN_LABELS) <= width + BETWEEN_LABELS) return ticks;
  }
  return ticksOf('linear', 'duration', span, 1);
}
