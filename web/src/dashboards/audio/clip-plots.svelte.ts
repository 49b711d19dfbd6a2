import { untrack } from 'svelte';

import { isAbortError, toProblem } from '../../api/errors';
import type { Problem } from '../../api/schemas';
import type { FrequencyScaleType, Spectrogram, Waveform } from '../../charts/audio/audio-data';
import type { NumberRange } from '../../charts/types';
import type { SpectrogramMode } from './audio-settings';
import { type ClipAddress, clipPath, type ClipSource, type SpectrogramOptions } from './query';

/** Something to ask for. Two of the same name have the same answer. */
export interface RequestSpec<Value> {
  readonly key: string;
  fetch(signal: AbortSignal): Promise<Value>;
}

/** While somebody zooms, only what is seen in the end is asked for. */
const DEBOUNCE_MS = 40;

/** The answer to the last wish. The one from before stays until the next has come. */
export class DebouncedRequest<Value> {
  data = $state.raw<Value | null>(null);
  error = $state.raw<Problem | null>(null);
  #wish: RequestSpec<Value> | null = null;
  #abort = new AbortController();

  request(wish: RequestSpec<Value> | null): void {
    if (wish?.key === this.#wish?.key) return;
    this.#wish = wish;
    this.#abort.abort();
    if (wish) void this.#load(wish);
    else this.data = this.error = null;
  }

  retry(): void {
    this.error = null;
    if (this.#wish) void this.#load(this.#wish);
  }

  cancel(): void {
    this.#abort.abort();
  }

  async #load(wish: RequestSpec<Value>): Promise<void> {
    const { signal } = (this.#abort = new AbortController());
    if (untrack(() => this.data) !== null) await sleep(DEBOUNCE_MS);
    if (signal.aborted) return;
    try {
      const value = await wish.fetch(signal);
      if (signal.aborted) return;
      this.data = value;
      this.error = null;
    } catch (error) {
      if (!isAbortError(error) && !signal.aborted) this.error = toProblem(error);
    }
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((wake) => setTimeout(wake, ms));
}

/** What is known of a clip before anything of it is drawn. */
export interface AudioFormat {
  readonly sampleRate: number;
  readonly frames: number;
  readonly channels: number;
}

/** What is seen of a clip, and on how many pixels. */
export interface PlotView {
  /** In seconds; null: all. */
  readonly span: NumberRange | null;
  readonly width: number;
  readonly height: number;
  readonly spectrogram: SpectrogramMode;
  readonly window: number | null;
}

/** Sizes go up in steps, so that a window that is dragged larger does not ask at every pixel. */
const SIZE_STEP_PX = 64;
const MAX_WIDTH_PX = 2048;
const MAX_HEIGHT_PX = 256;

/** The pictures of one clip. */
export class ClipPlots {
  readonly waveform = new DebouncedRequest<Waveform>();
  readonly spectrogram = new DebouncedRequest<Spectrogram>();

  /** Asks for what is not there yet. */
  request(drawer: ClipSource, clip: ClipAddress, facts: AudioFormat, sight: PlotView): void {
    const path = clipPath(clip);
    const part = visibleFrames(facts, sight.span);
    const wave = { columns: roundUpSize(sight.width, MAX_WIDTH_PX), ...part };
    this.waveform.request({
      key: JSON.stringify([path, wave]),
      fetch: (signal) => drawer.loadWaveform(clip, wave, signal),
    });
    if (sight.spectrogram === 'off') return this.spectrogram.request(null);
    const tones = spectrogramOptions(part, sight, sight.spectrogram);
    this.spectrogram.request({
      key: JSON.stringify([path, tones]),
      fetch: (signal) => drawer.loadSpectrogram(clip, tones, signal),
    });
  }

  retry(): void {
    for (const one of [this.waveform, this.spectrogram]) if (one.error) one.retry();
  }

  cancel(): void {
    this.waveform.cancel();
    this.spectrogram.cancel();
  }
}

interface FrameRange {
  readonly start: number;
  readonly stop: number;
}

/** All frames of which any is seen. */
export function visibleFrames(
  { sampleRate, frames }: AudioFormat,
  span: NumberRange | null,
): FrameRange {
  if (!span) return { start: 0, stop: frames };
  const start = Math.max(0, Math.floor(span[0] * sampleRate));
  return { start, stop: Math.min(frames, Math.ceil(span[1] * sampleRate) + 1) };
}

function spectrogramOptions(
  part: FrameRange,
  { width: across, height: up, window }: PlotView,
  scale: FrequencyScaleType,
): SpectrogramOptions {
  const [width, height] = [roundUpSize(across, MAX_WIDTH_PX), roundUpSize(up, MAX_HEIGHT_PX)];
  return { width, height, ...part, scale, window };
}

function roundUpSize(pixels: number, most: number): number {
  return Math.min(most, SIZE_STEP_PX * Math.max(1, Math.ceil(pixels / SIZE_STEP_PX)));
}
