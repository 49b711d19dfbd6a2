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

/** Decoded clips take a lot of memory, and are soon decoded again. */
const MOST_SOUNDS = 6;

/** The page itself: for what only the browser can decode, and for copies, which have no server. */
export class PageDrawer implements Drawer {
  readonly #api: Api;
  readonly #sounds = new Map<string, Promise<Sound>>();

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
    for (const oldest of this.#sounds.keys()) {
      if (this.#sounds.size <= MOST_SOUNDS) break;
      this.#sounds.delete(oldest);
    }
    return sound;
  }

  async #decode(path: string, sampleRate: number | null): Promise<Sound> {
    const file = await (await fetch(await this.#api.fileUrl(path))).arrayBuffer();
    try {
      return await decodeSound(file, sampleRate);
    } catch {
      this.#sounds.delete(path);
      const what = 'The browser cannot decode this clip.';
      throw new ApiError({ what, next: 'Download it to look at it elsewhere.' }, 0);
    }
  }
}
