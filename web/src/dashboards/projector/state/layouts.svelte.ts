import { untrack } from 'svelte';

import { Asking } from '../../../api/asking.svelte';
import type { Api } from '../../../plugin/context';
import { layOut, measureFrame } from '../cloud/frame';
import type { Places } from '../cloud/shown';
import type { MatchAnswer, QualityAnswer } from '../data/answers';
import type { Catalog, Reference } from './catalog.svelte';
import { queryOf } from './query';
import { LayoutJob, listAxes } from './job.svelte';
import { componentsOf, dimensionsOf, isLong, type LayoutAsk } from './method';
import type { Params } from './params';

/** Where points are, by the method that is chosen, and where those that they are compared with. */
export class Layouts {
  readonly main: LayoutJob;
  readonly second: LayoutJob;
  /** Of the last version, where another one is looked at. */
  readonly #base: LayoutJob;
  readonly #match = new Asking<MatchAnswer>();
  readonly quality = new Asking<QualityAnswer>();
  readonly #api: Api;
  readonly #params: Params;
  readonly #catalog: Catalog;
  readonly #find: () => LayoutAsk | null;
  readonly #count: () => number;
  /** What was asked for though it takes long. */
  #wanted = $state('');

  constructor(
    api: Api,
    params: Params,
    catalog: Catalog,
    find: () => LayoutAsk | null,
    count: () => number,
  ) {
    this.#api = api;
    this.#params = params;
    this.#catalog = catalog;
    this.#find = find;
    this.#count = count;
    this.main = new LayoutJob(api);
    this.second = new LayoutJob(api);
    this.#base = new LayoutJob(api);
  }

  /** How many points have to be laid out. */
  #rows = $derived.by(() => this.#count());

  /** What there is to do; null where something is left to choose. */
  readonly #ask = $derived.by(() => {
    const reference = this.#catalog.reference;
    const ask = this.#find();
    return reference && ask ? { ...reference, ...ask } : null;
  });

  readonly #key = $derived(JSON.stringify(this.#ask));
  /** Which of the layout's axes are looked at. */
  readonly axes = $derived.by(() =>
    this.#params.method.value === 'pca'
      ? componentsOf(this.#params)
      : [0, 1, 2].slice(0, dimensionsOf(this.#params)),
  );

  /** Whether it takes so long that somebody has to say that it is wanted. */
  readonly needsStart = $derived.by(
    () => this.#ask !== null && isLong(this.#params, this.#rows) && this.#wanted !== this.#key,
  );

  /** Something is left to choose before there is anything to lay out. */
  readonly isIncomplete = $derived.by(() => this.#catalog.reference !== null && !this.#ask);

  readonly #frame = $derived.by(() => this.main.answer && measureFrame(this.main.answer));

  readonly places = $derived.by<Float32Array | null>(() => {
    const { answer } = this.main;
    const count = this.#catalog.reference ? this.total : 0;
    return answer && this.#frame && count > 0 ? layOut(answer, count, this.#frame) : null;
  });

  /** Where the same points are in what it is compared with; those that are not there are nowhere. */
  readonly otherPlaces = $derived.by<Float32Array | null>(() => {
    const { answer } = this.second;
    const match = this.#match.answer;
    if (!answer || !match || !this.#frame || !this.places) return null;
    const theirs = layOut(answer, this.otherTotal, this.#frame);
    const places = new Float32Array(this.places.length).fill(NaN);
    match.rows.forEach((other, row) => {
      if (other >= 0) places.set(theirs.subarray(3 * other, 3 * other + 3), 3 * row);
    });
    return places;
  });

  /** The two ways of looking, with how far points are between them; null until there are any. */
  readonly shown = $derived.by<Places | null>(() => {
    const [now, other] = [this.places, this.otherPlaces];
    if (!now) return null;
    const count = now.length / 3;
    return other ? { count, now: other, before: now } : { count, now, before: null };
  });

  get isAwaited(): boolean {
    return [this.main, this.#base, this.second].some((job) => job.isAwaited);
  }

  get matched(): number | null {
    return this.#match.answer?.matched ?? null;
  }

  /** All rows of the embedding, as the server knows once it is opened. */
  total = $state(0);
  otherTotal = $state(0);

  /** Whether there is something to start: what takes long, or was ended before it was done. */
  get canStart(): boolean {
    return this.needsStart || this.main.isCancelled;
  }

  start(): void {
    this.#wanted = this.#key;
    if (this.main.isCancelled) this.again();
  }

  /** Asks once more for what could not be had. */
  again(): void {
    this.#lay(this.needsStart ? null : this.#ask, this.axes, this.#catalog.base);
  }

  /** To be called where effects live. */
  follow(): void {
    $effect(() => {
      const [ask, axes] = [this.#ask, this.axes];
      const waits = this.needsStart;
      const base = this.#catalog.base;
      untrack(() => this.#lay(waits ? null : ask, axes, base));
    });
    $effect(() => {
      const [ask, axes, other] = [this.#find(), this.axes, this.#catalog.otherReference];
      const first = this.main.isDone ? (this.main.row?.job ?? null) : null;
      const by = this.#params.otherBy.value;
      untrack(() => this.#compare(ask, axes, other, first, by));
    });
    $effect(() => {
      const job = this.main.isDone ? this.main.row?.job : undefined;
      const question = job
        ? (signal: AbortSignal) =>
            this.#api.get<QualityAnswer>(
              `quality?${queryOf({ job })}&${listAxes(this.axes)}`,
              signal,
            )
        : null;
      untrack(() => this.quality.ask(question));
    });
    $effect(() => () => {
      for (const job of [this.main, this.second, this.#base]) job.stop();
      this.#match.stop();
      this.quality.stop();
    });
  }

  #lay(ask: (Reference & LayoutAsk) | null, axes: readonly number[], base: Reference | null): void {
    if (!ask || !base) return this.main.forget();
    const isBase = base.index === ask.index;
    void (isBase ? this.main.follow(ask, axes) : this.#layOnto(base, ask, axes));
  }

  /** Turned so that points of two steps are where they can be compared. */
  async #layOnto(
    base: Reference,
    ask: Reference & LayoutAsk,
    axes: readonly number[],
  ): Promise<void> {
    this.main.stop();
    const key = this.#key;
    await this.#base.follow({ ...ask, ...base }, axes);
    const align = this.#base.isDone ? (this.#base.row?.job ?? null) : null;
    if (key === this.#key) await this.main.follow({ ...ask, align }, axes);
  }

  #compare(
    ask: LayoutAsk | null,
    axes: readonly number[],
    other: Reference | null,
    first: string | null,
    by: string | null,
  ): void {
    const mine = this.#catalog.reference;
    if (!ask || !other || !mine || first === null) {
      this.second.forget();
      return this.#match.ask(null);
    }
    void this.second.follow({ ...other, ...ask, rows: null, align: first, align_by: by }, axes);
    this.#match.ask((signal) => this.#api.post('match', { ...mine, other, column: by }, signal));
  }
}
