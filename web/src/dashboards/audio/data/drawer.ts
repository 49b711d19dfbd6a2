import { type RunSteps, valuePath } from '../../../api/values';
import type { FrequencyScale, Spectrogram, Waveform } from '../../../charts/sound/types';
import type { Api } from '../../../plugin/context';
import { type SpectrogramAnswer, spectrogramOf, type WaveformAnswer, waveformOf } from './answers';

/** A clip where it stands in the log. */
export interface ClipPlace {
  readonly steps: RunSteps;
  readonly place: number;
  readonly part: number;
  /** What the clip, or the log, says of it; null: nothing. */
  readonly sampleRate: number | null;
}

/** What is to be drawn of a clip: frames, and the pixels there are for them. */
export interface WaveformAsk {
  readonly columns: number;
  readonly start: number;
  readonly stop: number;
}

export interface SpectrogramAsk {
  readonly width: number;
  readonly height: number;
  readonly start: number;
  readonly stop: number;
  readonly scale: FrequencyScale;
  readonly window: number | null;
}

/** Who makes pictures of a clip. */
export interface Drawer {
  drawWaveform(clip: ClipPlace, ask: WaveformAsk, signal: AbortSignal): Promise<Waveform>;
  drawSpectrogram(clip: ClipPlace, ask: SpectrogramAsk, signal: AbortSignal): Promise<Spectrogram>;
}

export function clipPath({ steps, place, part }: ClipPlace): string {
  return valuePath('clip', steps, place, { part });
}

/** The server, which need not send the clip itself. */
export class ServerDrawer implements Drawer {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  async drawWaveform(
    { steps, place, part }: ClipPlace,
    ask: WaveformAsk,
    signal: AbortSignal,
  ): Promise<Waveform> {
    const path = valuePath('waveform', steps, place, { part, ...ask });
    return waveformOf(await this.#api.get<WaveformAnswer>(path, signal));
  }

  async drawSpectrogram(
    { steps, place, part }: ClipPlace,
    { window, ...ask }: SpectrogramAsk,
    signal: AbortSignal,
  ): Promise<Spectrogram> {
    const extra = { part, ...ask, ...(window === null ? {} : { window }) };
    const path = valuePath('spectrogram', steps, place, extra);
    return spectrogramOf(await this.#api.get<SpectrogramAnswer>(path, signal));
  }
}
