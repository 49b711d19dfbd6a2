import { type SortedSteps, valuePath } from '../../api/client';
import { isAbortError, toProblem } from '../../api/errors';
import type { Problem } from '../../api/schemas';
import type { DashboardApi } from '../../plugin/context';
import { type GeometryResponse, getByteSize, isSampled } from './mesh-geometry';

/** Holds the things used last, up to so many bytes; one that is larger by itself is not held. */
export class GeometryLruCache<Thing> {
  readonly #limitBytes: number;
  readonly #sizeOf: (thing: Thing) => number;
  readonly #things = new Map<string, Thing>();
  #heldBytes = 0;

  constructor(limitBytes: number, sizeOf: (thing: Thing) => number) {
    this.#limitBytes = limitBytes;
    this.#sizeOf = sizeOf;
  }

  get totalBytes(): number {
    return this.#heldBytes;
  }

  get(key: string): Thing | undefined {
    const thing = this.#things.get(key);
    if (thing !== undefined) {
      this.#things.delete(key);
      this.#things.set(key, thing);
    }
    return thing;
  }

  set(key: string, thing: Thing): void {
    this.#drop(key);
    if (this.#sizeOf(thing) > this.#limitBytes) return;
    this.#things.set(key, thing);
    this.#heldBytes += this.#sizeOf(thing);
    for (const oldest of this.#things.keys()) {
      if (this.#heldBytes <= this.#limitBytes) return;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    const thing = this.#things.get(key);
    if (thing === undefined) return;
    this.#things.delete(key);
    this.#heldBytes -= this.#sizeOf(thing);
  }
}

/** The most points that are asked for at first; copies of boards carry as many. */
export const INITIAL_POINTS = 100_000;
/** Clouds up to this size are drawn with all of their points as soon as somebody stays with them. */
const FULL_POINTS = 1_000_000;
const ALL_POINTS = 2 ** 31 - 1;
const REFINE_DELAY_MS = 300;
const MAX_CACHE_BYTES = 192 << 20;

/** Which mesh is wanted: one of a batch, at a place of a run's steps. */
export interface GeometryQuery {
  readonly steps: SortedSteps;
  readonly stepIndex: number;
  readonly batchIndex: number;
  /** Every point, however many there are. */
  readonly allPoints: boolean;
}

/** Meshes that were looked at last, within a bound that all cards share. */
export class GeometryCache {
  readonly api: DashboardApi;
  readonly isStatic: boolean;
  readonly #kept = new GeometryLruCache<GeometryResponse>(MAX_CACHE_BYTES, getByteSize);

  constructor(api: DashboardApi, isStatic: boolean) {
    this.api = api;
    this.isStatic = isStatic;
  }

  find(path: string): GeometryResponse | undefined {
    return this.#kept.get(path);
  }

  async load(path: string, signal: AbortSignal): Promise<GeometryResponse> {
    const found = this.#kept.get(path) ?? (await this.api.get<GeometryResponse>(path, signal));
    this.#kept.set(path, found);
    return found;
  }
}

/** What one picture shows of one run. The last mesh stays until the next one is there. */
export class GeometryLoader {
  geometry = $state.raw<GeometryResponse | null>(null);
  error = $state.raw<Problem | null>(null);
  isLoading = $state(false);
  readonly #meshes: GeometryCache;
  #wanted = '';
  #abort = new AbortController();

  constructor(meshes: GeometryCache) {
    this.#meshes = meshes;
  }

  /** To be called again whenever another mesh is wanted; null: none. */
  setQuery(wanted: GeometryQuery | null): void {
    const coarse = wanted ? makeGeometryPath(wanted, INITIAL_POINTS) : '';
    const key = wanted?.allPoints ? `${coarse} whole` : coarse;
    if (key === this.#wanted) return;
    this.#wanted = key;
    this.#abort.abort();
    this.#abort = new AbortController();
    if (wanted) void this.#load(wanted, this.#abort.signal);
    else this.#show(null);
  }

  retry(wanted: GeometryQuery | null): void {
    this.#wanted = '';
    this.setQuery(wanted);
  }

  close(): void {
    this.#abort.abort();
  }

  async #load(wanted: GeometryQuery, signal: AbortSignal): Promise<void> {
    this.isLoading = true;
    try {
      const fine = makeGeometryPath(wanted, wanted.allPoints ? ALL_POINTS : FULL_POINTS);
      const known = this.#meshes.find(fine);
      const first =
        known ?? (await this.#meshes.load(makeGeometryPath(wanted, INITIAL_POINTS), signal));
      if (signal.aborted) return;
      this.#show(first);
      if (known || this.#meshes.isStatic || !needsRefinement(first, wanted.allPoints)) return;
      // Who passes by does not wait for what is too much to be seen in passing.
      await delay(wanted.allPoints ? 0 : REFINE_DELAY_MS, signal);
      this.isLoading = true;
      const rest = await this.#meshes.load(fine, signal);
      if (!signal.aborted) this.#show(rest);
    } catch (error) {
      if (signal.aborted || isAbortError(error)) return;
      this.error = toProblem(error);
      this.isLoading = false;
    }
  }

  #show(geometry: GeometryResponse | null): void {
    this.geometry = geometry;
    this.error = null;
    this.isLoading = false;
  }
}

function needsRefinement(geometry: GeometryResponse, whole: boolean): boolean {
  if (whole) return isSampled(geometry) || (geometry.face === null && geometry.about.faces > 0);
  return isSampled(geometry) && geometry.about.drawable <= FULL_POINTS;
}

function makeGeometryPath({ steps, stepIndex, batchIndex }: GeometryQuery, most: number): string {
  return valuePath('geometry', steps, stepIndex, { item: batchIndex, most });
}

function delay(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    });
  });
}
