import { type Box, pathOf, type Pen } from '../pen/pen';
import { crisp } from '../picture/axes';
import { LABEL_GAP, LABEL_SIZE } from '../picture/layout';
import type { Palette } from '../picture/palette';
import type { SoundLayout } from './layout';
import type { Channel, Waveform } from './types';

/** Between the lowest and the highest sample; how loud it is stands out of it. */
const PEAK_OPACITY = 0.45;
/** Samples that are at least so many pixels apart are dots. */
const DOTS_APART = 7;
/** A line as thin as silence is still to be seen. */
const THINNEST = 1;
/** In a lower box the numbers at its ends would touch what is between them. */
const ROOM_FOR_ENDS = 44;

/** How far samples swing; `most` is what reaches the edge of a box. */
export function drawWaves(
  pen: Pen,
  layout: SoundLayout,
  waveform: Waveform,
  look: { readonly colour: string; readonly most: number },
  palette: Palette,
): void {
  waveform.channels.forEach((channel, at) => {
    const box = layout.waves[at];
    if (!box) return;
    drawBack(pen, box, nameChannel(at, waveform.channels.length), look.most, palette);
    const isWhole = channel.low.length === waveform.stop - waveform.start;
    const draw = isWhole ? drawSamples : drawColumns;
    pen.inside(box, () => draw(pen, layout, box, waveform, channel, look));
  });
}

/** The largest swing there is, or 1 for what keeps within the range of a file. */
export function swingOf({ channels }: Waveform): number {
  let most = 0;
  for (const { low, high } of channels)
    for (let at = 0; at < low.length; at++) most = Math.max(most, -(low[at] || 0), high[at] || 0);
  return most;
}

/** The line of silence, and beside it how far the box reaches or which channel it is. */
function drawBack(pen: Pen, box: Box, name: string, most: number, palette: Palette): void {
  const middle = crisp(box.top + box.height / 2);
  const right = box.left + box.width;
  pen.stroke(pathOf(box.left, middle, right, middle), { colour: palette.grid, width: 1 });
  const style = { colour: palette.label, size: LABEL_SIZE, align: 'right' } as const;
  const x = box.left - LABEL_GAP;
  pen.text(name || '0', x, middle, { ...style, baseline: 'middle' });
  if (box.height < ROOM_FOR_ENDS) return;
  const text = String(Number(most.toPrecision(2)));
  pen.text(text, x, box.top + 2, { ...style, baseline: 'top' });
  pen.text(`−${text}`, x, box.top + box.height - 1, { ...style, baseline: 'bottom' });
}

function nameChannel(at: number, count: number): string {
  if (count < 2) return '';
  return count === 2 ? (['L', 'R'][at] ?? '') : String(at + 1);
}

type Draw = (
  pen: Pen,
  layout: SoundLayout,
  box: Box,
  waveform: Waveform,
  channel: Channel,
  look: { readonly colour: string; readonly most: number },
) => void;

const drawColumns: Draw = (pen, layout, box, waveform, channel, { colour, most }) => {
  const count = channel.low.length;
  const x = new Float32Array(count);
  const low = new Float32Array(count);
  const high = new Float32Array(count);
  const loud = { low: new Float32Array(count), high: new Float32Array(count) };
  const { middle, y } = heightsOf(box, most);
  for (let at = 0; at < count; at++) {
    const [least, greatest] = [channel.low[at] ?? NaN, channel.high[at] ?? NaN];
    x[at] = layout.x.scale.at(secondsOf(waveform, at + 0.5, count));
    const thin = Math.max(0, THINNEST - (y(least) - y(greatest))) / 2;
    low[at] = y(least) + thin;
    high[at] = y(greatest) - thin;
    // What is loud on one side only must not leave the other.
    const rms = channel.rms[at] ?? NaN;
    loud.low[at] = Math.min(low[at] ?? NaN, middle + (middle - y(rms)));
    loud.high[at] = Math.max(high[at] ?? NaN, y(rms));
  }
  pen.area({ x, low, high, length: count }, { colour, opacity: PEAK_OPACITY });
  pen.area({ x, ...loud, length: count }, { colour });
};

const drawSamples: Draw = (pen, layout, box, waveform, channel, { colour, most }) => {
  const count = channel.low.length;
  const points = new Float32Array(2 * count);
  const { y } = heightsOf(box, most);
  for (let at = 0; at < count; at++) {
    const height = y(channel.low[at] ?? NaN);
    points[2 * at] = Number.isNaN(height)
      ? NaN
      : layout.x.scale.at((waveform.start + at) / waveform.sampleRate);
    points[2 * at + 1] = height;
  }
  pen.stroke({ points, length: points.length }, { colour, width: 1.5 });
  if (layout.frame.width / count < DOTS_APART) return;
  for (let at = 0; at < points.length; at += 2)
    if (!Number.isNaN(points[at])) pen.dot(points[at] ?? 0, points[at + 1] ?? 0, 2, { colour });
};

function heightsOf(box: Box, most: number): { middle: number; y(value: number): number } {
  const middle = box.top + box.height / 2;
  const reach = (box.height / 2 - 1) / most;
  return { middle, y: (value) => middle - value * reach };
}

/** When a place along the columns is, in seconds from the start of the clip. */
function secondsOf({ start, stop, sampleRate }: Waveform, column: number, count: number): number {
  return (start + ((stop - start) * column) / count) / sampleRate;
}
