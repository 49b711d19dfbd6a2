import { isAbort, problemOf } from '../../../api/client';
import type { Problem } from '../../../api/types';
import { type RunSteps, valuePath } from '../../../api/values';
import type { Api } from '../../../plugin/context';
import { bytesOf, type Geometry, isSampled } from './geometry';
import { Store } from './store';

/** The most points that are asked for at first; copies of boards carry as many. */
export const COARSE = 100_000;
/** Clouds up to this size are drawn with all of their points as soon as somebody stays with them. */
const FINE = 1_000_000;
const EVERY_POINT = 2 ** 31 - 1;
const STAY_MS = 300;
const KEPT_BYTES = 192 << 20;

/** Which mesh is wanted: one of a batch, at a place of a run's steps. */
export interface Wanted {
  readonly steps: RunSteps;
  readonly place: number;
  readonly item: number;
  /** Every point, however many there are. */
  readonly whole: boolean;
}

/** Meshes that were looked at last, within a bound that all cards share. */
export class Meshes {
  readonly api: Api;
  readonly isStatic: boolean;
  readonly #kept = new Store<Geometry>(KEPT_BYTES, bytesOf);

  constructor(api: Api, isStatic: boolean) {
    this.api = api;
    this.isStatic = isStatic;
  }

  find(path: string): Geometry | undefined {
    return this.#kept.find(path);
  }

  async load(path: string, signal: AbortSignal): Promise<Geometry> {
    const found = this.#kept.find(path) ?? (await this.api.get<Geometry>(path, signal));
    this.#kept.keep(path, found);
    return found;
  }
}

/** What one picture shows of one run. The last mesh stays until the next one is there. */
export class Shelf {
  geometry = $state.raw<Geometry | null>(null);
  problem = $state.raw<Problem | null>(null);
  isLoading = $state(false);
  readonly #meshes: Meshes;
  #wanted = '';
  #abort = new AbortController();

  constructor(meshes: Meshes) {
    this.#meshes = meshes;
  }

  /** To be called again whenever another mesh is wanted; null: none. */
  want(wanted: Wanted | null): void {
    const coarse = wanted ? pathOf(wanted, COARSE) : '';
    const key = wanted?.whole ? `${coarse} whole` : coarse;
    if (key === this.#wanted) return;
    this.#wanted = key;
    this.#abort.abort();
    this.#abort = new AbortController();
    if (wanted) void this.#load(wanted, this.#abort.signal);
    else this.#show(null);
  }

  retry(wanted: Wanted | null): void {
    this.#wanted = '';
    this.want(wanted);
  }

  close(): void {
    this.#abort.abort();
  }

  async #load(wanted: Wanted, signal: AbortSignal): Promise<void> {
    this.isLoading = true;
    try {
      const fine = pathOf(wanted, wanted.whole ? EVERY_POINT : FINE);
      const known = this.#meshes.find(fine);
      const first = known ?? (await this.#meshes.load(pathOf(wanted, COARSE), signal));
      if (signal.aborted) return;
      this.#show(first);
      if (known || this.#meshes.isStatic || !needsMore(first, wanted.whole)) return;
      // Who passes by does not wait for what is too much to be seen in passing.
      await pause(wanted.whole ? 0 : STAY_MS, signal);
      this.isLoading = true;
      const rest = await this.#meshes.load(fine, signal);
      if (!signal.aborted) this.#show(rest);
    } catch (error) {
      if (signal.aborted || isAbort(error)) return;
      this.problem = problemOf(error);
      this.isLoading = false;
    }
  }

  #show(geometry: Geometry | null): void {
    this.geometry = geometry;
    this.problem = null;
    this.isLoading = false;
  }
}

function needsMore(geometry: Geometry, whole: boolean): boolean {
  if (whole) return isSampled(geometry) || (geometry.face === null && geometry.about.faces > 0);
  return isSampled(geometry) && geometry.about.drawable <= FINE;
}

function pathOf({ steps, place, item }: Wanted, most: number): string {
  return valuePath('geometry', steps, place, { item, most });
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    });
  });
}
