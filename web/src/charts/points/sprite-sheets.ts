import type { SpriteSheet } from './point-scene';

/** How images are laid out on tiles, each with `per_tile` of them. */
export interface SpriteLayout {
  readonly tiles: number;
  readonly per_tile: number;
  readonly tile_columns: number;
  readonly cell_width: number;
  readonly cell_height: number;
}

/** Load images tile by tile; `onload` is called with all sheets so far. */
export async function loadSpriteSheets(
  layout: SpriteLayout,
  rows: number,
  fetchTile: (tile: number) => Promise<Blob>,
  signal: AbortSignal,
  onload: (sheets: readonly SpriteSheet[]) => void,
): Promise<void> {
  let sheets: readonly SpriteSheet[] = [];
  for (let tile = 0; tile < layout.tiles; tile++) {
    const file = await fetchTile(tile);
    const image = await createImageBitmap(file, { premultiplyAlpha: 'none' });
    if (signal.aborted) return;
    const first = tile * layout.per_tile;
    const sheet = {
      ...{ image, first, count: Math.min(layout.per_tile, rows - first) },
      ...{ columns: layout.tile_columns },
      ...{ cellWidth: layout.cell_width, cellHeight: layout.cell_height },
    };
    sheets = [...sheets, sheet];
    onload(sheets);
  }
}
