/** Search in the texts of all visible tags and runs. */
import { isAbortError, toProblem } from '../../api/errors';
import type { Problem, TextHit, TextSearchResponse } from '../../api/schemas';
import type { TagGridState } from '../../cards/card-grid.svelte';
import type { SortedSteps } from '../../cards/steps/step-selection.svelte';
import { reuseIfEqual } from '../../lib/caches';
import { textSearchQuery } from './text-entries';
import type { HighlightTerms } from './rendered-text';
import type { TextSettings } from './text-state.svelte';

/** A match within a text: its line, and the number of earlier matches in the same text. */
export interface MatchTarget {
  readonly line: number;
  readonly before: number;
}

/** Return the match at an index of the list if it is in the given text. */
export function findMatchTarget(
  hits: readonly TextHit[],
  index: number,
  steps: SortedSteps,
  position: number,
): MatchTarget | null {
  const hit = hits[index];
  const isInText = (hit: TextHit): boolean =>
    hit.run === steps.run && hit.tag === steps.tag && hit.index === steps.index[position];
  if (!hit || !isInText(hit)) return null;
  return { line: hit.line, before: hits.slice(0, index).filter(isInText).length };
}

const DEBOUNCE_MS = 250;
/** The search pauses after this many further matches. */
const MATCHES_PER_PAGE = 200;
/** Limit on the distinct matches of a regular expression that are highlighted. */
const MAX_HIGHLIGHTED_TERMS = 50;

export class TextSearch {
  hits = $state.raw<readonly TextHit[]>([]);
  searched = $state(0);
  total = $state(0);
  isSearching = $state(false);
  error = $state.raw<Problem | null>(null);
  /** Index of the selected match; -1 without one. */
  currentIndex = $state(-1);
  /** Select the first match as soon as there is one. */
  #isAwaited = false;
  /** Revision of the log when the search began. */
  #revision = $state(0);

  readonly #grid: TagGridState;
  readonly #settings: TextSettings;
  #abort = new AbortController();
  #tags: readonly string[] = [];

  readonly current = $derived.by(() => this.hits[this.currentIndex] ?? null);
  readonly isDone = $derived.by(() => this.searched >= this.total);
  /** The log has changed since the search began. */
  readonly isStale = $derived.by(() => this.#revision !== this.#grid.revision);
  readonly highlight = $derived.by<HighlightTerms>(() => {
    const { query, queryRegex, queryCase } = this.#settings;
    const found = queryRegex.value ? distinctMatches(this.hits) : [query.value];
    return { terms: found.filter((term) => term !== ''), matchCase: queryCase.value };
  });

  constructor(grid: TagGridState, settings: TextSettings) {
    this.#grid = grid;
    this.#settings = settings;
  }

  startEffects(): void {
    $effect(() => {
      void [
        this.#settings.queryRegex.value,
        this.#settings.queryCase.value,
        this.#grid.requestedRuns,
        this.tags,
      ];
      const timer = this.#settings.query.value
        ? setTimeout(() => void this.start(), DEBOUNCE_MS)
        : 0;
      this.stop();
      this.#reset();
      return () => clearTimeout(timer);
    });
    $effect(() => () => this.stop());
  }

  /** The tags of the visible cards. */
  get tags(): readonly string[] {
    const tags = this.#grid.sections.flatMap(({ cards }) => cards.map(({ tag }) => tag));
    // A pinned card is in two sections.
    this.#tags = reuseIfEqual(
      this.#tags,
      tags.filter((tag, index) => tags.indexOf(tag) === index),
    );
    return this.#tags;
  }

  async start(): Promise<void> {
    const isAwaited = this.#isAwaited;
    this.stop();
    this.#reset();
    this.#isAwaited = isAwaited;
    this.#revision = this.#grid.revision;
    await this.searchMore();
  }

  /** Search until there are enough further matches or all texts have been searched. */
  async searchMore(): Promise<void> {
    if (!this.#grid.context.supports(textSearchQuery.route)) return;
    const { signal } = (this.#abort = new AbortController());
    const enough = this.hits.length + MATCHES_PER_PAGE;
    this.isSearching = true;
    try {
      do {
        const response = await this.#fetchPage(signal);
        this.hits = [...this.hits, ...response.hits];
        this.searched = response.searched;
        this.total = response.texts;
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

  /** Select another match, relative to the current one; after the last comes the first. */
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

  goTo(index: number): void {
    this.currentIndex = index;
  }

  /** Return the selected match if it is in the given text. */
  findTarget(steps: SortedSteps, position: number): MatchTarget | null {
    return this.current && findMatchTarget(this.hits, this.currentIndex, steps, position);
  }

  #fetchPage(signal: AbortSignal): Promise<TextSearchResponse> {
    const { query, queryRegex, queryCase } = this.#settings;
    const request = {
      query: query.value,
      regex: queryRegex.value,
      case_sensitive: queryCase.value,
      tags: this.tags,
      runs: this.#grid.requestedRuns,
      skip: this.searched,
    };
    return this.#grid.context.queries.fetch(textSearchQuery, request, { signal });
  }

  #reset(): void {
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
