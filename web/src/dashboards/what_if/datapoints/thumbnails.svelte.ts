import { untrack } from 'svelte';

import { isAbortError, toProblem } from '../../../api/errors';
import type { Problem } from '../../../api/schemas';
import { loadSpriteSheets, type SpriteSheet } from '../../../charts/points/point-scene';
import { thumbnailsQuery, thumbnailTileQuery } from '../query';
import type { WhatIfState } from '../what-if-state.svelte';

const NO_SHEETS: readonly SpriteSheet[] = [];
const MIN_SIZE_PX = 12;
const MAX_SIZE_PX = 56;
/** Share of the plot that images cover if they do not overlap. */
const COVERED_SHARE = 0.35;

/** Return the side of images, so that most of them can be seen. */
export function getImageSize(count: number, width: number, height: number): number {
  const side = Math.sqrt((COVERED_SHARE * width * height) / Math.max(1, count));
  return Math.round(Math.max(MIN_SIZE_PX, Math.min(MAX_SIZE_PX, side)));
}

/** Small images of all datapoints; those that are not loaded yet are drawn as discs. */
export class Thumbnails {
  sheets = $state.raw<readonly SpriteSheet[]>(NO_SHEETS);
  error = $state.raw<Problem | null>(null);
  readonly #board: WhatIfState;

  /** Call it where effects can be created. */
  constructor(board: WhatIfState) {
    this.#board = board;
    $effect(() => {
      const { info, imageName: feature, rows } = board;
      const controller = new AbortController();
      this.error = null;
      // Images stay while edited ones are loaded, unless rows were added or deleted.
      const shown = untrack(() => this.sheets.reduce((sum, { count }) => sum + count, 0));
      if (feature === '' || shown !== rows.length) this.sheets = NO_SHEETS;
      if (info && feature !== '' && rows.length > 0) {
        const request = { session: info.session, feature };
        void this.#load(request, info.version, rows.length, controller.signal);
      }
      return () => controller.abort();
    });
  }

  async #load(
    request: { readonly session: string; readonly feature: string },
    version: number,
    rows: number,
    signal: AbortSignal,
  ): Promise<void> {
    const { queries } = this.#board.context;
    try {
      const layout = await queries.fetch(thumbnailsQuery, request, { signal });
      await loadSpriteSheets(
        layout,
        rows,
        (tile) => queries.fetch(thumbnailTileQuery, { ...request, version, tile }, { signal }),
        signal,
        (sheets) => (this.sheets = sheets),
      );
    } catch (error) {
      if (!isAbortError(error)) this.error = toProblem(error);
    }
  }
}
