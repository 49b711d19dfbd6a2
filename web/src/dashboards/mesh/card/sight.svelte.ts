import { untrack } from 'svelte';
import { SvelteMap } from 'svelte/reactivity';

import { placeAt } from '../../../wall/steps/steps';
import { type Frame, frameAround } from '../camera/frame';
import type { Geometry } from '../data/geometry';
import { Shelf, type Wanted } from '../data/loader.svelte';
import type { Mesh, RunSeries } from '../mesh.svelte';

/** What a card shows: of each run the mesh at a step, and the frame that all of them stand in. */
export class Sight {
  /** Stays when steps change, so that what grows is seen to grow. */
  frame = $state.raw<Frame | null>(null);
  readonly #mesh: Mesh;
  readonly #shelves = new SvelteMap<string, Shelf>();
  /** Whether the frame is around all runs yet. */
  #isWhole = false;
  #waiting = 0;

  /** The meshes that are there. */
  readonly geometries = $derived.by<readonly Geometry[]>(() =>
    [...this.#shelves.values()].flatMap(({ geometry }) => geometry ?? []),
  );
  readonly #isLoading = $derived.by(() =>
    [...this.#shelves.values()].some(({ isLoading }) => isLoading),
  );

  constructor(mesh: Mesh) {
    this.#mesh = mesh;
  }

  /** To be called where effects live. */
  follow(series: () => readonly RunSeries[], step: () => number | null): void {
    $effect(() => {
      const { item, whole } = this.#mesh.settings;
      const [at, number, isWhole] = [step(), item.value, whole.value];
      const wanted = series().map(({ steps }) => {
        const place = placeAt(steps, at);
        return [
          steps.run,
          place < 0 ? null : { steps, place, item: number, whole: isWhole },
        ] as const;
      });
      untrack(() => this.#want(wanted));
    });
    $effect(() => this.#frameAll());
    $effect(() => this.#tellWaiting(this.#isLoading ? 1 : 0));
    $effect(() => () => this.#close());
  }

  find(run: string): Shelf | undefined {
    return this.#shelves.get(run);
  }

  /** Puts the frame around what is seen now. */
  fit(): void {
    this.frame = frameAround(this.geometries.map(({ about }) => about)) ?? this.frame;
  }

  #want(wanted: readonly (readonly [string, Wanted | null])[]): void {
    const runs = wanted.map(([run]) => run);
    for (const [run, shelf] of this.#shelves) {
      if (runs.includes(run)) continue;
      shelf.close();
      this.#shelves.delete(run);
    }
    for (const [run, one] of wanted) {
      const shelf = this.#shelves.get(run) ?? new Shelf(this.#mesh.meshes);
      this.#shelves.set(run, shelf);
      shelf.want(one);
    }
  }

  #frameAll(): void {
    const isLoading = this.#isLoading;
    const abouts = this.geometries.map(({ about }) => about);
    if (this.#isWhole || abouts.length === 0) return;
    this.frame = frameAround(abouts) ?? untrack(() => this.frame);
    this.#isWhole = !isLoading && this.frame !== null;
  }

  #tellWaiting(count: number): void {
    untrack(() => this.#mesh.await(count - this.#waiting));
    this.#waiting = count;
  }

  #close(): void {
    this.#tellWaiting(0);
    for (const shelf of this.#shelves.values()) shelf.close();
  }
}
