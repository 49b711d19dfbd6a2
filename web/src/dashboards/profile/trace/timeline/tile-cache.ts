import type { Query } from '../../../../api/create-query.svelte';
import type { Problem, TileRange, Tiles } from '../../../../api/schemas';
import type { TimeSpan } from './timeline-layout';

/** The entries of a track in a tile, by lane, then by start. */
export interface TrackTile {
  /** The index of the first entry of each lane, and the number of entries. */
  readonly lanes: Int32Array;
  readonly start: Float64Array;
  readonly duration: Float64Array;
  readonly event: Int32Array;
  /** 1 for an event; otherwise the number of short events that were merged. */
  readonly count: Int32Array;
  readonly name: Int32Array;
  readonly hue: Uint8Array;
  readonly busy: Uint8Array;
}

/** An event, or several short ones that were merged. */
export interface TileEntry {
  readonly event: number;
  readonly name: number;
  readonly start: number;
  readonly duration: number;
  readonly count: number;
  readonly busy: number;
  readonly hue: number;
}

/** Yield all tracks of the first tile, then of the next. */
export function* iterTrackTiles(response: Tiles): Iterable<TrackTile> {
  let first = 0;
  for (const last of response.ends) {
    const slice = <Column extends { subarray(from: number, to: number): Column }>(column: Column) =>
      column.subarray(first, last);
    yield {
      lanes: indexLanes(slice(response.lane)),
      start: slice(response.start),
      duration: slice(response.duration),
      event: slice(response.event),
      count: slice(response.count),
      name: slice(response.name),
      hue: slice(response.hue),
      busy: slice(response.busy),
    };
    first = last;
  }
}

function indexLanes(lane: Uint8Array): Int32Array {
  const count = (lane.at(-1) ?? -1) + 1;
  const lanes = new Int32Array(count + 1).fill(lane.length);
  for (let index = lane.length - 1; index >= 0; index--) lanes[lane[index] ?? 0] = index;
  // An empty lane starts where the next one does.
  for (let index = count - 1; index >= 0; index--)
    lanes[index] = Math.min(lanes[index] ?? 0, lanes[index + 1] ?? 0);
  return lanes;
}

/** Return the first entry of a lane that ends after a time. Entries of a lane do not overlap. */
export function findFirstEndingAfter(
  tile: TrackTile,
  from: number,
  to: number,
  timePs: number,
): number {
  let [low, high] = [from, to];
  while (low < high) {
    const middle = (low + high) >> 1;
    const end = (tile.start[middle] ?? 0) + (tile.duration[middle] ?? 0);
    if (end <= timePs) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function readEntry(tile: TrackTile, index: number): TileEntry {
  return {
    event: tile.event[index] ?? 0,
    name: tile.name[index] ?? 0,
    start: tile.start[index] ?? 0,
    duration: tile.duration[index] ?? 0,
    count: tile.count[index] ?? 0,
    busy: (tile.busy[index] ?? 0) / 255,
    hue: tile.hue[index] ?? 0,
  };
}

/** A tile has 2 ** TILE_BITS cells of 2 ** level ps. */
const TILE_BITS = 10;
export const MAX_LEVEL = 50;
/** Above this number of entries, the oldest tiles are evicted. */
const MAX_ENTRIES = 2_000_000;
const MAX_TILES_PER_REQUEST = 8;

/** The tiles from `first` to `last` of some tracks. */
export interface TileRequest extends TileRange {
  readonly tracks: readonly number[];
}

/** A query of tiles whose request changes. */
export interface TileObserver {
  setRequest(request: TileRequest): void;
  retry(): void;
  dispose(): void;
}

/** What is known of the requested tiles. */
export type TilesState = Pick<Query<Tiles>, 'data' | 'error' | 'status'>;

type ObserveTiles = (listener: (state: TilesState) => void) => TileObserver;

/** Return the finest level with cells no wider than a pixel. */
export function getTileLevel(psPerPixel: number): number {
  return Math.min(MAX_LEVEL, Math.max(0, Math.floor(Math.log2(psPerPixel))));
}

/** Return the first and the last tile of a level in a time span. */
export function getTileNumbers(level: number, { start, end }: TimeSpan): [number, number] {
  const size = 2 ** (level + TILE_BITS);
  return [Math.floor(start / size), Math.floor(end / size)];
}

/**
 * A tile pyramid: keeps the tiles of all levels that have arrived, and requests those that are
 * visible and missing, one request at a time.
 */
export class TileCache {
  readonly names = new Map<number, string>();
  /** Why the current request failed. */
  error: Problem | null = null;
  readonly #onchange: () => void;
  readonly #observer: TileObserver;
  readonly #tiles = new Map<string, TrackTile>();
  #entryCount = 0;
  #wanted: readonly TileRequest[] = [];
  /** The request in flight. */
  #request: TileRequest | null = null;
  /** The only level in a static export. */
  #exportedLevel: number | null = null;

  constructor(observe: ObserveTiles, onchange: () => void) {
    this.#onchange = onchange;
    this.#observer = observe((state) => this.#update(state));
  }

  /** Set the visible tiles, most urgent first. Tiles of earlier calls are no longer requested. */
  setWanted(wanted: readonly TileRequest[]): void {
    if (this.#exportedLevel !== null) return;
    this.#wanted = wanted;
    this.#fetchNext();
  }

  /** Fetch all tiles of a static export; there are no others. */
  fetchExported(request: TileRequest): void {
    this.#exportedLevel = request.level;
    this.#fetch(request);
  }

  /** Repeat a failed request. */
  retry(): void {
    this.error = null;
    this.#observer.retry();
  }

  dispose(): void {
    this.#observer.dispose();
  }

  get isComplete(): boolean {
    return this.#request === null;
  }

  /** Return the tiles of a track at a level, or at the next coarser one that is complete. */
  getTiles(level: number, span: TimeSpan, track: number): TrackTile[] {
    // An export has all tiles between the ends of the trace.
    if (this.#exportedLevel !== null) return this.#collect(this.#exportedLevel, span, track);
    for (let each = level; each <= MAX_LEVEL; each++) {
      const [first, last] = getTileNumbers(each, span);
      const tiles = this.#collect(each, span, track);
      if (tiles.length === last - first + 1) return tiles;
    }
    return [];
  }

  #collect(level: number, span: TimeSpan, track: number): TrackTile[] {
    const [first, last] = getTileNumbers(level, span);
    const tiles: TrackTile[] = [];
    for (let number = first; number <= last; number++) {
      const tile = this.#tiles.get(makeTileKey(level, number, track));
      if (tile) tiles.push(tile);
    }
    return tiles;
  }

  #fetchNext(): void {
    const next = this.#request ? null : this.#findMissing();
    if (next) this.#fetch(next);
  }

  #fetch(request: TileRequest): void {
    this.#request = request;
    this.#observer.setRequest(request);
  }

  #update({ data, error, status }: TilesState): void {
    if (!this.#request) return;
    if (status === 'ready' && data) {
      this.error = null;
      this.#store(this.#request, data);
      this.#request = null;
      this.#fetchNext();
    } else if (error) this.error = error.problem;
    else return;
    this.#onchange();
  }

  /** Return the first wanted tiles that are missing, as a rectangle of tiles and tracks. */
  #findMissing(): TileRequest | null {
    const has = (level: number, tile: number, track: number): boolean =>
      this.#tiles.has(makeTileKey(level, tile, track));
    for (const { level, first, last, tracks } of this.#wanted) {
      for (let tile = first; tile <= last; tile++) {
        const missing = tracks.filter((track) => !has(level, tile, track));
        if (missing.length === 0) continue;
        const isKnown = (next: number): boolean =>
          missing.every((track) => has(level, next, track));
        const maxEnd = Math.min(last, tile + MAX_TILES_PER_REQUEST - 1);
        let end = tile;
        while (end < maxEnd && !isKnown(end + 1)) end++;
        return { level, first: tile, last: end, tracks: missing };
      }
    }
    return null;
  }

  #store({ level, first, tracks }: TileRequest, response: Tiles): void {
    const { ids, texts } = response.names;
    texts.forEach((text, index) => this.names.set(ids[index] ?? -1, text));
    let index = 0;
    for (const tile of iterTrackTiles(response)) {
      const number = first + Math.floor(index / tracks.length);
      this.#tiles.set(makeTileKey(level, number, tracks[index % tracks.length] ?? -1), tile);
      this.#entryCount += tile.start.length + 1;
      index++;
    }
    for (const [key, tile] of this.#tiles) {
      if (this.#entryCount <= MAX_ENTRIES) break;
      this.#tiles.delete(key);
      this.#entryCount -= tile.start.length + 1;
    }
  }
}

function makeTileKey(level: number, tile: number, track: number): string {
  return `${level}/${tile}/${track}`;
}
