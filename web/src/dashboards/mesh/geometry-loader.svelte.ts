import { makeValueRequest, type SortedSteps } from '../../api/client';
import { isAbortError, toProblem } from '../../api/errors';
import { defineQuery } from '../../api/query-definition';
import type { GeometryRequest, Problem } from '../../api/schemas';
import type { Context } from '../../plugin/context';
import { type GeometryResponse, getByteSize, isSampled } from './mesh-geometry';

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

/** A mesh with at most `most` points. */
export const geometryQuery = defineQuery('GET mesh/geometry', {
  scope: 'immutable',
  select: (response) => response as GeometryResponse,
  cost: getByteSize,
  maxCost: MAX_CACHE_BYTES,
});

/** What one picture shows of one run. The last mesh stays until the next one is there. */
export class GeometryLoader {
  geometry = $state.raw<GeometryResponse | null>(null);
  error = $state.raw<Problem | null>(null);
  isLoading = $state(false);
  readonly #context: Context;
  #wanted = '';
  #abort = new AbortController();

  constructor(context: Context) {
    this.#context = context;
  }

  /** To be called again whenever another mesh is wanted; null: none. */
  setQuery(wanted: GeometryQuery | null): void {
    const coarse = wanted ? JSON.stringify(makeGeometryRequest(wanted, INITIAL_POINTS)) : '';
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
      const { queries, isStatic } = this.#context;
      const fine = makeGeometryRequest(wanted, wanted.allPoints ? ALL_POINTS : FULL_POINTS);
      const coarse = makeGeometryRequest(wanted, INITIAL_POINTS);
      const known = queries.peek(geometryQuery, fine);
      const first = known ?? (await queries.fetch(geometryQuery, coarse, { signal }));
      if (signal.aborted) return;
      this.#show(first);
      if (known || isStatic || !needsRefinement(first, wanted.allPoints)) return;
      // Who passes by does not wait for what is too much to be seen in passing.
      await delay(wanted.allPoints ? 0 : REFINE_DELAY_MS, signal);
      this.isLoading = true;
      const rest = await queries.fetch(geometryQuery, fine, { signal });
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

function makeGeometryRequest(
  { steps, stepIndex, batchIndex }: GeometryQuery,
  most: number,
): GeometryRequest {
  return { ...makeValueRequest(steps, stepIndex), item: batchIndex, most };
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
