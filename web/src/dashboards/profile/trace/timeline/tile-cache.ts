import { isAbortError } from '../../../../api/errors';
import type { Tiles } from '../../schemas';
import type { TimeSpan } from './time-axis';

/** What is seen of a track in a tile; by lane, then by start. */
export interface TrackTile {
  /** Where each lane begins, and after the last one where it ends. */
  readonly lanes: Int32Array;
  readonly start: Float64Array;
  readonly duration: Float64Array;
  readonly event: Int32Array;
  /** One: the event itself; more: so many too short to be told apart. */
  readonly count: Int32Array;
  readonly name: Int32Array;
  readonly hue: Uint8Array;
  readonly busy: Uint8Array;
}

/** An entry, as a tip tells of it. */
export interface TileEntry {
  readonly event: number;
  readonly name: number;
  readonly start: number;
  readonly duration: number;
  readonly count: number;
  readonly busy: number;
  readonly hue: number;
}

/** The parts of an answer, in its order: of the first tile each track, then of the next. */
export function* iterTrackTiles(answer: Tiles): Iterable<TrackTile> {
  let first = 0;
  for (const last of answer.ends) {
    const of = <Column extends { subarray(from: number, to: number): Column }>(column: Column) =>
      column.subarray(first, last);
    yield {
      lanes: indexLanes(of(answer.lane)),
      start: of(answer.start),
      duration: of(answer.duration),
      event: of(answer.event),
      count: of(answer.count),
      name: of(answer.name),
      hue: of(answer.hue),
      busy: of(answer.busy),
    };
    first = last;
  }
}

function indexLanes(lane: Uint8Array): Int32Array {
  const count = (lane.at(-1) ?? -1) + 1;
  const lanes = new Int32Array(count + 1).fill(lane.length);
  for (let at = lane.length - 1; at >= 0; at--) lanes[lane[at] ?? 0] = at;
  // A lane without anything begins where the next one does.
  for (let at = count - 1; at >= 0; at--) lanes[at] = Math.min(lanes[at] ?? 0, lanes[at + 1] ?? 0);
  return lanes;
}

/** The first entry of a lane that ends after a moment: as none overlap, ends are in order too. */
export function findFirstEndingAfter(
  part: TrackTile,
  from: number,
  to: number,
  moment: number,
): number {
  let [low, high] = [from, to];
  while (low < high) {
    const middle = (low + high) >> 1;
    const end = (part.start[middle] ?? 0) + (part.duration[middle] ?? 0);
    if (end <= moment) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function readEntry(part: TrackTile, at: number): TileEntry {
  return {
    event: part.event[at] ?? 0,
    name: part.name[at] ?? 0,
    start: part.start[at] ?? 0,
    duration: part.duration[at] ?? 0,
    count: part.count[at] ?? 0,
    busy: (part.busy[at] ?? 0) / 255,
    hue: part.hue[at] ?? 0,
  };
}

/** So many cells of two to the power of a level are a tile, as a power of two. */
const TILE_BITS = 10;
export const MAX_LEVEL = 50;
/** More than this is let go, oldest first. */
const MAX_ENTRIES = 2_000_000;
const MAX_TILES_PER_REQUEST = 8;

/** What to ask for: the tiles from `first` to `last`, of some tracks. */
export interface TileRange {
  readonly level: number;
  readonly first: number;
  readonly last: number;
  readonly tracks: readonly number[];
}

type FetchTiles = (ask: TileRange, signal: AbortSignal) => Promise<Tiles>;

/** The finest level of which a cell is no wider than a pixel. */
export function getTileLevel(psPerPixel: number): number {
  return Math.min(MAX_LEVEL, Math.max(0, Math.floor(Math.log2(psPerPixel))));
}

/** The tiles of a level that a span touches. */
export function getTileNumbers(level: number, { start, end }: TimeSpan): [number, number] {
  const size = 2 ** (level + TILE_BITS);
  return [Math.floor(start / size), Math.floor(end / size)];
}

/** All tiles that have come, at any level; asks for those that are looked at and not there. */
export class TileCache {
  readonly names = new Map<number, string>();
  /** Why the last tiles did not come. */
  error: unknown = null;
  readonly #parts = new Map<string, TrackTile>();
  readonly #stopping = new AbortController();
  #entries = 0;
  #wanted: TileRange[] = [];
  /** The only level there is. */
  #fixed: number | null = null;
  #asking = false;

  constructor(
    readonly fetchTiles: FetchTiles,
    readonly onchange: () => void,
  ) {}

  /** Says what is looked at now, the most urgent first. What was wanted before is not any more. */
  setWanted(asks: TileRange[]): void {
    this.#wanted = asks;
    void this.#pump();
  }

  dispose(): void {
    this.#stopping.abort();
  }

  get isComplete(): boolean {
    return !this.#asking;
  }

  /** What there is of a track in a span: at a level, or at the next coarser one that is there. */
  getTiles(level: number, span: TimeSpan, track: number): TrackTile[] {
    // What a copy does not carry is beyond the ends of the trace.
    if (this.#fixed !== null) return this.#collect(this.#fixed, span, track);
    for (let each = level; each <= MAX_LEVEL; each++) {
      const [first, last] = getTileNumbers(each, span);
      const parts = this.#collect(each, span, track);
      if (parts.length === last - first + 1) return parts;
    }
    return [];
  }

  #collect(level: number, span: TimeSpan, track: number): TrackTile[] {
    const [first, last] = getTileNumbers(level, span);
    const parts: TrackTile[] = [];
    for (let tile = first; tile <= last; tile++) {
      const part = this.#parts.get(makeTileKey(level, tile, track));
      if (part) parts.push(part);
    }
    return parts;
  }

  /** Asks once more for what did not come. */
  retry(): void {
    this.error = null;
    void this.#pump();
  }

  /** Takes what a copy of the board carries: nothing else is ever asked for. */
  fill(ask: TileRange, answer: Tiles): void {
    this.#fixed = ask.level;
    this.#keep(ask, answer);
    this.onchange();
  }

  async #pump(): Promise<void> {
    if (this.#asking || this.error !== null || this.#fixed !== null || !this.#next()) return;
    this.#asking = true;
    for (let next = this.#next(); next; next = this.#next()) {
      try {
        this.#keep(next, await this.fetchTiles(next, this.#stopping.signal));
      } catch (error) {
        if (isAbortError(error)) return;
        this.error = error;
        this.onchange();
        break;
      }
      this.#asking = this.#next() !== null;
      this.onchange();
    }
    this.#asking = false;
  }

  /** The first of what is wanted that is not there, as one rectangle of tiles and tracks. */
  #next(): TileRange | null {
    for (const { level, first, last, tracks } of this.#wanted) {
      for (let tile = first; tile <= last; tile++) {
        const missing = tracks.filter((track) => !this.#parts.has(makeTileKey(level, tile, track)));
        if (missing.length === 0) continue;
        const isThere = (next: number): boolean =>
          missing.every((track) => this.#parts.has(makeTileKey(level, next, track)));
        let until = tile;
        while (until < Math.min(last, tile + MAX_TILES_PER_REQUEST - 1) && !isThere(until + 1))
          until++;
        return { level, first: tile, last: until, tracks: missing };
      }
    }
    return null;
  }

  #keep({ level, first, tracks }: TileRange, answer: Tiles): void {
    const { ids, texts } = answer.words;
    texts.forEach((text, at) => this.names.set(ids[at] ?? -1, text));
    let at = 0;
    for (const part of iterTrackTiles(answer)) {
      const tile = first + Math.floor(at / tracks.length);
      this.#parts.set(makeTileKey(level, tile, tracks[at % tracks.length] ?? -1), part);
      this.#entries += part.start.length + 1;
      at++;
    }
    for (const [key, part] of this.#parts) {
      if (this.#entries <= MAX_ENTRIES) break;
      this.#parts.delete(key);
      this.#entries -= part.start.length + 1;
    }
  }
}

function makeTileKey(level: number, tile: number, track: number): string {
  return `${level}/${tile}/${track}`;
}
