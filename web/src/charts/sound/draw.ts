import { around, pathOf, type Pen } from '../pen/pen';
import { crisp } from '../picture/axes';
import { LABEL_SIZE } from '../picture/layout';
import type { Palette } from '../picture/palette';
import type { Span } from '../types';
import type { SoundLayout } from './layout';
import { drawSpectrum } from './spectrum';
import type { Spectrogram, Waveform } from './types';
import { drawWaves } from './waves';

/** What is seen of a clip until somebody zooms. */
export interface SoundPicture {
  readonly layout: SoundLayout;
  readonly waveform: Waveform | null;
  readonly spectrogram: Spectrogram | null;
  readonly colour: string;
  /** The swing that fills the height. */
  readonly most: number;
  /** From the loudest to what is no louder than paper. */
  readonly rangeDb: number;
}

/** What lies above it and moves. */
export interface SoundOverlay {
  /** Where it plays, in seconds. */
  readonly position: number | null;
  readonly loop: Span | null;
  readonly hover: number | null;
}

export function drawSound(pen: Pen, picture: SoundPicture, palette: Palette): void {
  const { layout, waveform, spectrogram, rangeDb } = picture;
  if (waveform) drawWaves(pen, layout, waveform, picture, palette);
  if (spectrogram) drawSpectrum(pen, layout, spectrogram, rangeDb, palette);
  drawFoot(pen, layout, palette);
}

function drawFoot(pen: Pen, { frame, x, size }: SoundLayout, { axis, label }: Palette): void {
  const foot = frame.top + frame.height;
  const line = crisp(foot);
  pen.stroke(pathOf(frame.left, line, frame.left + frame.width, line), { colour: axis, width: 1 });
  const style = { colour: label, size: LABEL_SIZE, align: 'center', baseline: 'top' } as const;
  for (const { value, text } of x.ticks) {
    const half = pen.widthOf(text, style) / 2;
    const at = Math.max(half, Math.min(size.width - half, x.scale.at(value)));
    pen.text(text, at, foot + 4, style);
  }
}

export function drawSoundOverlay(
  pen: Pen,
  layout: SoundLayout,
  { position, loop, hover }: SoundOverlay,
  palette: Palette,
): void {
  pen.inside(around(layout.frame, 3), () => {
    if (loop) drawLoop(pen, layout, loop, palette);
    if (hover !== null) drawRule(pen, layout, hover, palette.rule, 1, [3, 3]);
    if (position !== null) drawPlayhead(pen, layout, position, palette);
  });
}

function drawLoop(pen: Pen, layout: SoundLayout, loop: Span, { accent }: Palette): void {
  const [left, right] = [layout.x.scale.at(loop[0]), layout.x.scale.at(loop[1])];
  pen.box({ ...layout.frame, left, width: right - left }, { colour: accent, opacity: 0.12 });
  for (const end of loop) drawRule(pen, layout, end, accent, 1);
}

function drawPlayhead(pen: Pen, layout: SoundLayout, position: number, palette: Palette): void {
  drawRule(pen, layout, position, palette.text, 1.5);
  const [x, top] = [layout.x.scale.at(position), layout.frame.top];
  pen.fill(pathOf(x - 4, top - 1, x + 4, top - 1, x, top + 5), { colour: palette.text });
}

function drawRule(
  pen: Pen,
  { x, frame }: SoundLayout,
  seconds: number,
  colour: string,
  width: number,
  dash: readonly number[] = [],
): void {
  const at = crisp(x.scale.at(seconds));
  pen.stroke(pathOf(at, frame.top, at, frame.top + frame.height), { colour, width, dash });
}
