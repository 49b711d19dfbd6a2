import { isAbortError, toProblem } from '../../api/errors';
import type { Problem } from '../../api/schemas';
import type { TagGridState } from '../../cards/card-grid.svelte';
import type { SortedSteps } from '../../cards/steps/step-series';
import { reuseIfEqual } from '../../lib/caches';
import { textSearchQuery } from './query';
import type { HighlightTerms } from './rendered-text';
import type { TextHit, TextSearchResponse } from '../../api/schemas';
import type { TextSettings } from './text-settings';

/** A hit inside of one text: its line, and how many hits of the same text come before it. */
export interface MatchTarget {
  readonly line: number;
  readonly before: number;
}

/** The hit at a place in the list, if it is in that text. */
export function findMatchTarget(
  hits: readonly TextHit[],
  at: number,
  steps: SortedSteps,
  place: number,
): MatchTarget | null {
  const hit = hits[at];
  const isIn = (hit: TextHit): boolean =>
    hit.run === steps.run && hit.tag === steps.tag && hit.index === steps.index[place];
  if (!hit || !isIn(hit)) return null;
  return { line: hit.line, before: hits.slice(0, at).filter(isIn).length };
}

/** As long as somebody types, nothing is asked. */
const DEBOUNCE_MS = 250;
/** With so many hits the search waits until somebody wants more. */
const MATCHES_PER_PAGE = 200;
/** So many different words that an expression found are marked. */
const MAX_HIGHLIGHTED_TERMS = 50;

/** Finds words in all texts of the tags and runs that are shown. */
export class TextSearch {
  hits = $state.raw<readonly TextHit[]>([]);
  searched = $state(0);
  total = $state(0);
  isSearching = $state(false);
  error = $state.raw<Problem | null>(null);
  /** Which of the hits is looked at; -1: none yet. */
  currentIndex = $state(-1);
  /** True when somebody wants to see the first hit, of which there is none yet. */
  #isAwaited = false;
  /** What the log had when the search began. */
  #revision = $state(0);

  readonly #wall: TagGridState;
  readonly #look: TextSettings;
  #abort = new AbortController();
  #tags: readonly string[] = [];

  readonly current = $derived.by(() => this.hits[this.currentIndex] ?? null);
  readonly isDone = $derived.by(() => this.searched >= this.total);
  /** True when texts may have come that were not searched. */
  readonly isStale = $derived.by(() => this.#revision !== this.#wall.revision);
  readonly highlight = $derived.by<HighlightTerms>(() => {
    const { query, queryRegex, queryCase } = this.#look;
    const found = queryRegex.value ? distinctMatches(this.hits) : [query.value];
    return { terms: found.filter((word) => word !== ''), matchCase: queryCase.value };
  });

  constructor(wall: TagGridState, look: TextSettings) {
    this.#wall = wall;
    this.#look = look;
  }

  follow(): void {
    $effect(() => {
      void [
        this.#look.queryRegex.value,
        this.#look.queryCase.value,
        this.#wall.requestedRuns,
        this.tags,
      ];
      const timer = this.#look.query.value ? setTimeout(() => void this.start(), DEBOUNCE_MS) : 0;
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
    this.#tags = reuseIfEqual(
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
    await this.searchMore();
  }

  /** Goes on until there are enough further hits, or nothing is left to be searched. */
  async searchMore(): Promise<void> {
    if (!this.#wall.context.supports(textSearchQuery.route)) return;
    const { signal } = (this.#abort = new AbortController());
    const enough = this.hits.length + MATCHES_PER_PAGE;
    this.isSearching = true;
    try {
      do {
        const answer = await this.#fetchPage(signal);
        this.hits = [...this.hits, ...answer.hits];
        this.searched = answer.searched;
        this.total = answer.texts;
        if (this.#isAwaited) this.moveBy(1);
      } while (!this.isDone && this.hits.length < enough);
    } catch (error) {
      if (isAbortError(error)) return;
      this.error = toProblem(error);
    }
    this.isSearching = false;
  }

  stop(): void {
    this.#abort.abort();
    this.isSearching = false;
  }

  /** Looks at the hit so many further on; from the last on to the first. */
  moveBy(by: number): void {
    const count = this.hits.length;
    this.#isAwaited = count === 0;
    if (count > 0)
      this.goTo(
        this.currentIndex < 0 ? (by > 0 ? 0 : count - 1) : (this.currentIndex + by + count) % count,
      );
    if (this.currentIndex === count - 1 && !this.isDone && !this.isSearching)
      void this.searchMore();
  }

  goTo(at: number): void {
    this.currentIndex = at;
  }

  /** Where in a text the hit is that is looked at; null: it is in another one. */
  findTarget(steps: SortedSteps, place: number): MatchTarget | null {
    return this.current && findMatchTarget(this.hits, this.currentIndex, steps, place);
  }

  #fetchPage(signal: AbortSignal): Promise<TextSearchResponse> {
    const { query, queryRegex, queryCase } = this.#look;
    const request = {
      query: query.value,
      regex: queryRegex.value,
      case_sensitive: queryCase.value,
      tags: this.tags,
      runs: this.#wall.requestedRuns,
      skip: this.searched,
    };
    return this.#wall.context.queries.fetch(textSearchQuery, request, { signal });
  }

  #forget(): void {
    this.hits = [];
    this.searched = 0;
    this.total = 0;
    this.error = null;
    this.currentIndex = -1;
    this.#isAwaited = false;
  }
}

function distinctMatches(hits: readonly TextHit[]): string[] {
  return [...new Set(hits.map(({ match }) => match))].slice(0, MAX_HIGHLIGHTED_TERMS);
}
