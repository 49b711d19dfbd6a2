import { untrack } from 'svelte';
import { SvelteMap } from 'svelte/reactivity';

import { isAbort, problemOf } from '../../../api/client';
import type { CurveRow, CurvesAnswer } from '../../../api/pr-curves';
import type { Problem } from '../../../api/types';
import { type RunSteps, valuePath } from '../../../api/values';
import { Pace } from '../../../base/pace';
import type { Context } from '../../../plugin/context';
import { idOf } from '../curve/curve';
import { type CurveWant, groupByStep, keyOf, keysOf, Memory, unique, Wants } from './want';

const PAUSE_MS = 50;
/** Some ten kilobytes each. */
const MOST_KEPT = 800;

/** The curves of the cards on the screen, asked for together. A curve never becomes another one. */
export class CurveLoader {
  readonly #context: Context;
  readonly #curves = new SvelteMap<string, CurveRow>();
  readonly #memory = new Memory();
  readonly #wants = new Wants<CurveWant>();
  readonly #pace = new Pace(() => this.#load(), PAUSE_MS);
  #abort = new AbortController();
  /** False while somebody waits for curves. */
  isReady = $state(true);
  /** Why the last request brought nothing. */
  problem = $state.raw<Problem | null>(null);

  constructor(context: Context) {
    this.#context = context;
  }

  find(steps: RunSteps, place: number): CurveRow | undefined {
    return this.#curves.get(keyOf(steps, place));
  }

  /** The curve that was seen there before. */
  findLatest(steps: RunSteps): CurveRow | undefined {
    return this.#memory.latest.get(idOf(steps));
  }

  /** Keeps curves at hand until the function that it returns is called. */
  want(wants: readonly CurveWant[]): () => void {
    const remove = this.#wants.add(wants);
    if (untrack(() => this.#findMissing()).length > 0) {
      this.isReady = false;
      this.#pace.askNow();
    }
    return remove;
  }

  retry(): void {
    this.#memory.missing.clear();
    this.problem = null;
    this.#pace.askNow();
  }

  stop(): void {
    this.#wants.clear();
    this.#abort.abort();
  }

  async #load(): Promise<void> {
    const [group] = groupByStep(this.#findMissing());
    if (!group) {
      this.isReady = true;
      return;
    }
    this.#abort = new AbortController();
    try {
      const curves = await this.#fetch(group, this.#abort.signal);
      for (const curve of curves) this.#take(curve);
      this.problem = null;
    } catch (error) {
      if (!isAbort(error)) this.problem = problemOf(error);
    }
    for (const { steps, place } of group) {
      const key = keyOf(steps, place);
      if (!this.#curves.has(key)) this.#memory.missing.add(key);
    }
    this.#forgetOldest();
    this.isReady = this.#findMissing().length === 0;
    if (!this.isReady) this.#pace.askNow();
  }

  async #fetch(group: readonly CurveWant[], signal: AbortSignal): Promise<readonly CurveRow[]> {
    const { api, isStatic } = this.#context;
    // A copy carries each curve by itself.
    if (isStatic) {
      const asked = group.map(({ steps, place }) =>
        api.get<CurveRow>(valuePath('curve', steps, place), signal),
      );
      return Promise.all(asked);
    }
    const tags = unique(group.map(({ steps }) => steps.tag));
    const runs = unique(group.map(({ steps }) => steps.run));
    const step = group[0]?.step ?? null;
    return (await api.post<CurvesAnswer>('curves', { tags, runs, step }, signal)).curves;
  }

  #take(curve: CurveRow): void {
    this.#curves.set(keyOf(curve), curve);
    this.#memory.latest.set(idOf(curve), curve);
  }

  #findMissing(): CurveWant[] {
    return this.#wants.all.filter(({ steps, place }) => {
      const key = keyOf(steps, place);
      return !this.#curves.has(key) && !this.#memory.missing.has(key);
    });
  }

  #forgetOldest(): void {
    if (this.#curves.size <= MOST_KEPT) return;
    const wanted = keysOf(this.#wants.all);
    for (const key of this.#curves.keys()) {
      if (this.#curves.size <= MOST_KEPT) return;
      if (!wanted.has(key)) this.#curves.delete(key);
    }
  }
}
