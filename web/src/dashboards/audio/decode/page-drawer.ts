import { ApiError } from '../../../api/client';
import type { Spectrogram, Waveform } from '../../../charts/sound/types';
import type { Api } from '../../../plugin/context';
import {
  type ClipPlace,
  clipPath,
  type Drawer,
  type SpectrogramAsk,
  type WaveformAsk,
} from '../data/drawer';
import { reduceSound } from './reduce';
import { decodeSound, type Sound } from './sound';
import { drawTones } from './spectrum';

/** Decoded clips take a lot of memory, four bytes a sample, and are soon decoded again. */
const MOST_SAMPLES = 32 << 20;

/** The page itself: for what only the browser can decode, and for copies, which have no server. */
export class PageDrawer implements Drawer {
  readonly #api: Api;
  /** In the order of use. */
  readonly #sounds = new Map<string, Promise<Sound>>();
  readonly #sizes = new Map<string, number>();

  constructor(api: Api) {
    this.#api = api;
  }

  async drawWaveform(clip: ClipPlace, { start, stop, columns }: WaveformAsk): Promise<Waveform> {
    return reduceSound(await this.load(clip), start, stop, columns);
  }

  async drawSpectrogram(clip: ClipPlace, ask: SpectrogramAsk): Promise<Spectrogram> {
    return drawTones(await this.load(clip), ask);
  }

  load(clip: ClipPlace): Promise<Sound> {
    const path = clipPath(clip);
    const known = this.#sounds.get(path);
    const sound = known ?? this.#decode(path, clip.sampleRate);
    this.#sounds.delete(path);
    this.#sounds.set(path, sound);
    return sound;
  }

  async #decode(path: string, sampleRate: number | null): Promise<Sound> {
    const file = await (await fetch(await this.#api.fileUrl(path))).arrayBuffer();
    try {
      const sound = await decodeSound(file, sampleRate);
      this.#sizes.set(path, sound.frames * sound.channels.length);
      this.#forgetOldest(path);
      return sound;
    } catch {
      this.#sounds.delete(path);
      const what = 'The browser cannot decode this clip.';
      throw new ApiError({ message: what, hint: 'Download it to look at it elsewhere.' }, 0);
    }
  }

  #forgetOldest(newest: string): void {
    let samples = [...this.#sizes.values()].reduce((sum, size) => sum + size, 0);
    for (const path of [...this.#sounds.keys()]) {
      if (samples <= MOST_SAMPLES) return;
      const size = this.#sizes.get(path);
      // Those without a size are still being decoded.
      if (size === undefined || path === newest) continue;
      this.#sounds.delete(path);
      this.#sizes.delete(path);
      samples -= size;
    }
  }
}
