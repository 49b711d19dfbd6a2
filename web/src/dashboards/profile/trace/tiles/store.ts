import { isAbort } from '../../../../api/client';
import type { TilesAnswer } from '../data/answers';
import type { Span } from '../view/span';
import { cutParts, type Part } from './part';

/** So many cells of two to the power of a level are a tile, as a power of two. */
const TILE_BITS = 10;
export const MOST_LEVELS = 50;
/** More than this is let go, oldest first. */
const MOST_ENTRIES = 2_000_000;
const MOST_TILES_AT_ONCE = 8;

/** What to ask for: the tiles from `first` to `last`, of some tracks. */
export interface TilesAsk {
  readonly level: number;
  readonly first: number;
  readonly last: number;
  readonly tracks: readonly number[];
}

type Ask = (ask: TilesAsk, signal: AbortSignal) => Promise<TilesAnswer>;

/** The finest level of which a cell is no wider than a pixel. */
export function levelOf(psPerPixel: number): number {
  return Math.min(MOST_LEVELS, Math.max(0, Math.floor(Math.log2(psPerPixel))));
}

/** The tiles of a level that a span touches. */
export function tilesOf(level: number, { start, end }: Span): [number, number] {
  const size = 2 ** (level + TILE_BITS);
  return [Math.floor(start / size), Math.floor(end / size)];
}

/** All tiles that have come, at any level; asks for those that are looked at and not there. */
export class TileStore {
  readonly words = new Map<number, string>();
  /** Why the last tiles did not come. */
  problem: unknown = null;
  readonly #parts = new Map<string, Part>();
  readonly #stopping = new AbortController();
  #entries = 0;
  #wanted: TilesAsk[] = [];
  /** The only level there is. */
  #fixed: number | null = null;
  #asking = false;

  constructor(
    readonly ask: Ask,
    readonly onnews: () => void,
  ) {}

  /** Says what is looked at now, the most urgent first. What was wanted before is not any more. */
  want(asks: TilesAsk[]): void {
    this.#wanted = asks;
    void this.#pump();
  }

  stop(): void {
    this.#stopping.abort();
  }

  get isComplete(): boolean {
    return !this.#asking;
  }

  /** What there is of a track in a span: at a level, or at the next coarser one that is there. */
  find(level: number, span: Span, track: number): Part[] {
    // What a copy does not carry is beyond the ends of the trace.
    if (this.#fixed !== null) return this.#collect(this.#fixed, span, track);
    for (let each = level; each <= MOST_LEVELS; each++) {
      const [first, last] = tilesOf(each, span);
      const parts = this.#collect(each, span, track);
      if (parts.length === last - first + 1) return parts;
    }
    return [];
  }

  #collect(level: number, span: Span, track: number): Part[] {
    const [first, last] = tilesOf(level, span);
    const parts: Part[] = [];
    for (let tile = first; tile <= last; tile++) {
      const part = this.#parts.get(keyOf(level, tile, track));
      if (part) parts.push(part);
    }
    return parts;
  }

  /** Asks once more for what did not come. */
  retry(): void {
    this.problem = null;
    void this.#pump();
  }

  /** Takes what a copy of the board carries: nothing else is ever asked for. */
  fill(ask: TilesAsk, answer: TilesAnswer): void {
    this.#fixed = ask.level;
    this.#keep(ask, answer);
    this.onnews();
  }

  async #pump(): Promise<void> {
    if (this.#asking || this.problem !== null || this.#fixed !== null || !this.#next()) return;
    this.#asking = true;
    for (let next = this.#next(); next; next = this.#next()) {
      try {
        this.#keep(next, await this.ask(next, this.#stopping.signal));
      } catch (error) {
        if (isAbort(error)) return;
        this.problem = error;
        this.onnews();
        break;
      }
      this.#asking = this.#next() !== null;
      this.onnews();
    }
    this.#asking = false;
  }

  /** The first of what is wanted that is not there, as one rectangle of tiles and tracks. */
  #next(): TilesAsk | null {
    for (const { level, first, last, tracks } of this.#wanted) {
      for (let tile = first; tile <= last; tile++) {
        const missing = tracks.filter((track) => !this.#parts.has(keyOf(level, tile, track)));
        if (missing.length === 0) continue;
        const isThere = (next: number): boolean =>
          missing.every((track) => this.#parts.has(keyOf(level, next, track)));
        let until = tile;
        while (until < Math.min(last, tile + MOST_TILES_AT_ONCE - 1) && !isThere(until + 1))
          until++;
        return { level, first: tile, last: until, tracks: missing };
      }
    }
    return null;
  }

  #keep({ level, first, tracks }: TilesAsk, answer: TilesAnswer): void {
    const { ids, texts } = answer.words;
    texts.forEach((text, at) => this.words.set(ids[at] ?? -1, text));
    let at = 0;
    for (const part of cutParts(answer)) {
      const tile = first + Math.floor(at / tracks.length);
      this.#parts.set(keyOf(level, tile, tracks[at % tracks.length] ?? -1), part);
      this.#entries += part.start.length + 1;
      at++;
    }
    for (const [key, part] of this.#parts) {
      if (this.#entries <= MOST_ENTRIES) break;
      this.#parts.delete(key);
      this.#entries -= part.start.length + 1;
    }
  }
}

function keyOf(level: number, tile: number, track: number): string {
  return `${level}/${tile}/${track}`;
}
