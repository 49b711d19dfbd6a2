import { shadesFor } from '../colour/ramp';
import type { Pen } from '../pen/pen';
import type { Raster } from '../pen/raster';
import { LABEL_GAP, LABEL_SIZE } from '../picture/layout';
import type { Palette } from '../picture/palette';
import { frequenciesOf, frequencyTicks } from './frequency';
import type { SoundLayout } from './layout';
import type { Spectrogram } from './types';

/** Labels on the side are so many pixels apart at least. */
const TICK_GAP = 16;

export function drawSpectrum(
  pen: Pen,
  layout: SoundLayout,
  spectrogram: Spectrogram,
  rangeDb: number,
  palette: Palette,
): void {
  const box = layout.spectrum;
  if (!box) return;
  const { start, stop, sampleRate } = spectrogram;
  const [left, right] = [start, stop].map((frame) => layout.x.scale.at(frame / sampleRate));
  const place = { ...box, left: left ?? 0, width: (right ?? 0) - (left ?? 0) };
  pen.inside(box, () => pen.image(rasterOf(spectrogram, palette.paper, rangeDb), place));
  const style = { colour: palette.label, size: LABEL_SIZE, align: 'right' } as const;
  const { placeOf } = frequenciesOf(spectrogram);
  for (const { value, text } of frequencyTicks(spectrogram, TICK_GAP / box.height)) {
    const y = box.top + box.height * (1 - placeOf(value));
    const inside = Math.max(box.top + 5, Math.min(box.top + box.height - 5, y));
    pen.text(text, box.left - LABEL_GAP, inside, { ...style, baseline: 'middle' });
  }
}

interface Painted {
  readonly paper: string;
  readonly rangeDb: number;
  readonly raster: Raster;
}

/** The last picture of each spectrogram: what was drawn stays the same while it is zoomed. */
const painted = new WeakMap<Spectrogram, Painted>();

function rasterOf(spectrogram: Spectrogram, paper: string, rangeDb: number): Raster {
  const known = painted.get(spectrogram);
  if (known && known.paper === paper && known.rangeDb === rangeDb) return known.raster;
  const raster = paintLevels(spectrogram, shadesFor(paper), rangeDb);
  painted.set(spectrogram, { paper, rangeDb, raster });
  return raster;
}

/** The pixels of a spectrogram: of `rangeDb` below the loudest that there can be all shades. */
export function paintLevels(
  { width, height, levels, lowDb, highDb }: Spectrogram,
  shades: Uint8ClampedArray,
  rangeDb: number,
): Raster {
  const table = new Uint32Array(256);
  const colours = new Uint32Array(shades.buffer, shades.byteOffset, 256);
  for (let level = 0; level < 256; level++) {
    const share = (((level / 255) * (highDb - lowDb) + lowDb - (highDb - rangeDb)) / rangeDb) * 255;
    table[level] = colours[Math.max(0, Math.min(255, Math.round(share)))] ?? 0;
  }
  const pixels = new Uint32Array(width * height);
  for (let row = 0; row < height; row++) {
    // Pictures begin at the top, spectrograms with the lowest frequency.
    const from = (height - 1 - row) * width;
    for (let column = 0; column < width; column++)
      pixels[row * width + column] = table[levels[from + column] ?? 0] ?? 0;
  }
  return { width, height, pixels: new Uint8ClampedArray(pixels.buffer) };
}
