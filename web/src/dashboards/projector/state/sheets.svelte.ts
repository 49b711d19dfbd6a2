import { untrack } from 'svelte';

import { isAbort, problemOf } from '../../../api/client';
import type { Problem } from '../../../api/types';
import type { Api } from '../../../plugin/context';
import type { Sheet } from '../cloud/shown';
import type { AboutAnswer } from '../data/answers';
import { queryOf } from './query';

/** The pictures of points, sheet by sheet. */
export class Sheets {
  /** Those that are there; points whose sheet is not are discs. */
  loaded = $state.raw<readonly Sheet[]>([]);
  problem = $state.raw<Problem | null>(null);
  readonly #api: Api;
  #asked = new AbortController();

  constructor(api: Api) {
    this.#api = api;
  }

  /** Null where pictures are not wanted. */
  show(about: AboutAnswer | null): void {
    this.stop();
    untrack(() => {
      if (this.loaded.length > 0) this.loaded = [];
      this.problem = null;
    });
    if (about?.sprite) void this.#load(about, this.#asked.signal);
  }

  stop(): void {
    this.#asked.abort();
    this.#asked = new AbortController();
  }

  async #load(about: AboutAnswer, signal: AbortSignal): Promise<void> {
    for (let tile = 0; tile < (about.sprite?.tiles ?? 0); tile++) {
      try {
        const sheet = await this.#fetch(about, tile);
        if (signal.aborted) return;
        if (sheet) this.loaded = [...this.loaded, sheet];
      } catch (error) {
        if (!isAbort(error) && !signal.aborted) this.problem = problemOf(error);
        return;
      }
    }
  }

  async #fetch(
    { id, index, mark, rows, sprite }: AboutAnswer,
    tile: number,
  ): Promise<Sheet | null> {
    if (!sprite) return null;
    const image = new Image();
    image.src = await this.#api.fileUrl(`sprite?${queryOf({ id, index, mark, tile })}`);
    await image.decode();
    const first = tile * sprite.per_tile;
    return {
      ...{ image, first, count: Math.min(sprite.per_tile, rows - first) },
      ...{ columns: sprite.tile_columns },
      ...{ cellWidth: sprite.cell_width, cellHeight: sprite.cell_height },
    };
  }
}
