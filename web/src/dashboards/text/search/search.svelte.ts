import { isAbort, problemOf } from '../../../api/client';
import type { TextHit, TextSearchAnswer } from '../../../api/text';
import type { Problem } from '../../../api/types';
import { keepIfSame } from '../../../base/keep';
import type { RunSteps } from '../../../wall/steps/steps';
import type { TagWall } from '../../../wall/tag-wall.svelte';
import type { Words } from '../prose/highlight';
import type { Look } from '../settings';
import { type Goal, goalIn } from './goal';

/** As long as somebody types, nothing is asked. */
const TYPING_MS = 250;
/** With so many hits the search waits until somebody wants more. */
const ENOUGH_HITS = 200;
/** So many different words that an expression found are marked. */
const MOST_WORDS = 50;

/** Finds words in all texts of the tags and runs that are shown. */
export class Search {
  hits = $state.raw<readonly TextHit[]>([]);
  searched = $state(0);
  texts = $state(0);
  busy = $state(false);
  problem = $state.raw<Problem | null>(null);
  /** Which of the hits is looked at; -1: none yet. */
  at = $state(-1);
  /** True when somebody wants to see the first hit, of which there is none yet. */
  #isAwaited = false;
  /** What the log had when the search began. */
  #revision = $state(0);

  readonly #wall: TagWall;
  readonly #look: Look;
  #abort = new AbortController();
  #tags: readonly string[] = [];

  readonly current = $derived.by(() => this.hits[this.at] ?? null);
  readonly isDone = $derived.by(() => this.searched >= this.texts);
  /** True when texts may have come that were not searched. */
  readonly isOld = $derived.by(() => this.#revision !== this.#wall.revision);
  readonly words = $derived.by<Words>(() => {
    const { query, queryRegex, queryCase } = this.#look;
    const found = queryRegex.value ? distinct(this.hits) : [query.value];
    return { words: found.filter((word) => word !== ''), matchCase: queryCase.value };
  });

  constructor(wall: TagWall, look: Look) {
    this.#wall = wall;
    this.#look = look;
  }

  follow(): void {
    $effect(() => {
      void [this.#look.queryRegex.value, this.#look.queryCase.value, this.#wall.runs, this.tags];
      const timer = this.#look.query.value ? setTimeout(() => void this.start(), TYPING_MS) : 0;
      this.stop();
      this.#forget();
      return () => clearTimeout(timer);
    });
    $effect(() => () => this.stop());
  }

  /** The tags that the wall shows. */
  get tags(): readonly string[] {
    const tags = this.#wall.sections.flatMap(({ cards }) => cards.map(({ tag }) => tag));
    // A card that is pinned stands in two sections.
    this.#tags = keepIfSame(
      this.#tags,
      tags.filter((tag, at) => tags.indexOf(tag) === at),
    );
    return this.#tags;
  }

  async start(): Promise<void> {
    const isAwaited = this.#isAwaited;
    this.stop();
    this.#forget();
    this.#isAwaited = isAwaited;
    this.#revision = this.#wall.revision;
    await this.more();
  }

  /** Goes on until there are enough further hits, or nothing is left to be searched. */
  async more(): Promise<void> {
    if (this.#wall.context.isStatic) return;
    const { signal } = (this.#abort = new AbortController());
    const enough = this.hits.length + ENOUGH_HITS;
    this.busy = true;
    try {
      do {
        const answer = await this.#ask(signal);
        this.hits = [...this.hits, ...answer.hits];
        this.searched = answer.searched;
        this.texts = answer.texts;
        if (this.#isAwaited) this.move(1);
      } while (!this.isDone && this.hits.length < enough);
    } catch (error) {
      if (isAbort(error)) return;
      this.problem = problemOf(error);
    }
    this.busy = false;
  }

  stop(): void {
    this.#abort.abort();
    this.busy = false;
  }

  /** Looks at the hit so many further on; from the last on to the first. */
  move(by: number): void {
    const count = this.hits.length;
    this.#isAwaited = count === 0;
    if (count > 0)
      this.goTo(this.at < 0 ? (by > 0 ? 0 : count - 1) : (this.at + by + count) % count);
    if (this.at === count - 1 && !this.isDone && !this.busy) void this.more();
  }

  goTo(at: number): void {
    this.at = at;
  }

  /** Where in a text the hit is that is looked at; null: it is in another one. */
  goalIn(steps: RunSteps, place: number): Goal | null {
    return this.current && goalIn(this.hits, this.at, steps, place);
  }

  #ask(signal: AbortSignal): Promise<TextSearchAnswer> {
    const { query, queryRegex, queryCase } = this.#look;
    const ask = {
      query: query.value,
      regex: queryRegex.value,
      case_sensitive: queryCase.value,
      tags: this.tags,
      runs: this.#wall.runs,
      skip: this.searched,
    };
    return this.#wall.context.api.post<TextSearchAnswer>('search', ask, signal);
  }

  #forget(): void {
    this.hits = [];
    this.searched = 0;
    this.texts = 0;
    this.problem = null;
    this.at = -1;
    this.#isAwaited = false;
  }
}

function distinct(hits: readonly TextHit[]): string[] {
  return [...new Set(hits.map(({ match }) => match))].slice(0, MOST_WORDS);
}
