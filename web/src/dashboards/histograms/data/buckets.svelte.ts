import { SvelteMap } from 'svelte/reactivity';

import type { BucketsAnswer, SeriesAnswer } from '../../../api/histograms';
import type { Api } from '../../../plugin/context';

/** How long a pointer rests before exact buckets are asked for. */
const REST_MS = 50;
const MOST_KEPT = 200;

/** Buckets as they were logged, of the histograms that were pointed at last. */
export class Buckets {
  readonly #api: Api;
  readonly #known = new SvelteMap<string, BucketsAnswer>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #asked = '';

  constructor(api: Api) {
    this.#api = api;
  }

  find(series: SeriesAnswer, at: number): BucketsAnswer | undefined {
    return this.#known.get(pathOf(series, at));
  }

  /** Asks for the buckets of a histogram once the pointer rests on it. */
  ask(series: SeriesAnswer, at: number): void {
    const path = pathOf(series, at);
    if (path === this.#asked || this.#known.has(path)) return;
    clearTimeout(this.#timer);
    this.#asked = path;
    this.#timer = setTimeout(() => void this.#read(path), REST_MS);
  }

  async #read(path: string): Promise<void> {
    try {
      this.#known.set(path, await this.#api.get<BucketsAnswer>(path));
      const [oldest] = this.#known.keys();
      if (this.#known.size > MOST_KEPT && oldest !== undefined) this.#known.delete(oldest);
    } catch {
      // What is drawn is told all the same.
    }
    if (this.#asked === path) this.#asked = '';
  }
}

/** The same to the letter as `value_path` on the server makes it. */
function pathOf({ run, tag, index, mark }: SeriesAnswer, at: number): string {
  const about = { run, tag, index: index[at] ?? 0, mark: mark[at] ?? 0 };
  const query = Object.entries(about).map(([key, value]) => `${key}=${encodeURIComponent(value)}`);
  return `buckets?${query.join('&')}`;
}
