import type { FrequencyScale, Spectrogram, Waveform } from '../../../charts/sound/types';
import type { Span } from '../../../charts/types';
import type { Tones } from '../state/settings';
import { type ClipPlace, clipPath, type Drawer, type SpectrogramAsk } from './drawer';
import { Loaded } from './loaded.svelte';

/** What is known of a clip before anything of it is drawn. */
export interface Facts {
  readonly sampleRate: number;
  readonly frames: number;
  readonly channels: number;
}

/** What is seen of a clip, and on how many pixels. */
export interface Sight {
  /** In seconds; null: all. */
  readonly span: Span | null;
  readonly across: number;
  readonly up: number;
  readonly tones: Tones;
  readonly window: number | null;
}

/** Sizes go up in steps, so that a window that is dragged larger does not ask at every pixel. */
const STEP = 64;
const MOST_ACROSS = 2048;
const MOST_UP = 256;

/** The pictures of one clip. */
export class ClipPictures {
  readonly waveform = new Loaded<Waveform>();
  readonly spectrogram = new Loaded<Spectrogram>();

  /** Asks for what is not there yet. */
  load(drawer: Drawer, clip: ClipPlace, facts: Facts, sight: Sight): void {
    const path = clipPath(clip);
    const part = framesOf(facts, sight.span);
    const wave = { columns: stepUp(sight.across, MOST_ACROSS), ...part };
    this.waveform.load({
      name: JSON.stringify([path, wave]),
      ask: (signal) => drawer.drawWaveform(clip, wave, signal),
    });
    if (sight.tones === 'off') return this.spectrogram.load(null);
    const tones = tonesOf(part, sight, sight.tones);
    this.spectrogram.load({
      name: JSON.stringify([path, tones]),
      ask: (signal) => drawer.drawSpectrogram(clip, tones, signal),
    });
  }

  retry(): void {
    for (const one of [this.waveform, this.spectrogram]) if (one.problem) one.retry();
  }

  stop(): void {
    this.waveform.stop();
    this.spectrogram.stop();
  }
}

interface Frames {
  readonly start: number;
  readonly stop: number;
}

/** All frames of which any is seen. */
export function framesOf({ sampleRate, frames }: Facts, span: Span | null): Frames {
  if (!span) return { start: 0, stop: frames };
  const start = Math.max(0, Math.floor(span[0] * sampleRate));
  return { start, stop: Math.min(frames, Math.ceil(span[1] * sampleRate) + 1) };
}

function tonesOf(
  part: Frames,
  { across, up, window }: Sight,
  scale: FrequencyScale,
): SpectrogramAsk {
  const [width, height] = [stepUp(across, MOST_ACROSS), stepUp(up, MOST_UP)];
  return { width, height, ...part, scale, window };
}

function stepUp(pixels: number, most: number): number {
  return Math.min(most, STEP * Math.max(1, Math.ceil(pixels / STEP)));
}
