/**
 * State, settings, keyboard shortcuts and card actions of the Text dashboard, and the search in the texts of
 * all visible tags and runs.
 */
import { createContext } from 'svelte';

import { isAbortError, toProblem } from '../../api/errors';
import type { Problem, TextHit, TextSearchResponse } from '../../api/schemas';
import { makePerCardCodec, type TagGridInfo, TagGridState } from '../../cards/card-grid.svelte';
import type { TagCard } from '../../cards/card-sections';
import { type LogRoot, openLogLines, quotePython } from '../../cards/export';
import {
  indexAtStep,
  type SortedSteps,
  StepSelection,
  StepsQuery,
} from '../../cards/steps/step-selection.svelte';
import * as common from '../../catalog/common';
import * as m from '../../catalog/text';
import type { MenuItem } from '../../components/MenuItems.svelte';
import { reuseIfEqual } from '../../lib/caches';
import { choice, type Codec, flag, list, text } from '../../lib/codecs';
import type { Context, Shortcut } from '../../plugin/context';
import { type HighlightTerms, textDiffQuery, textSearchQuery } from './text-entries';

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

class TextSearch {
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
    this.#tags = reuseIfEqual(this.#tags, [...new Set(tags)]);
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

const DASHBOARD: TagGridInfo = {
  name: 'text',
  title: common.text,
  emptyTitle: m.emptyTitle,
  emptyHint: m.emptyHint,
  plugins: ['text'],
  defaultWidth: 480,
};

/** State shared by the components of the dashboard. Create it where effects can be created. */
export class TextState extends TagGridState {
  readonly textSettings: TextSettings;
  readonly stepSelection: StepSelection;
  readonly stepLoader: StepsQuery;
  readonly search: TextSearch;
  /** Number of visible texts that are loading; playback waits for them. */
  pendingCount = $state(0);

  constructor(context: Context) {
    super(context, DASHBOARD);
    this.textSettings = createTextSettings(context);
    this.stepSelection = new StepSelection(context.url);
    this.stepLoader = new StepsQuery(this);
    this.search = new TextSearch(this, this.textSettings);
  }

  get canCompare(): boolean {
    return this.context.supports(textDiffQuery.route);
  }

  override startEffects(): void {
    super.startEffects();
    this.search.startEffects();
    // Comparisons are only shown in full screen and end with it.
    $effect(() => {
      if (this.settings.fullScreen.value === null && this.textSettings.comparedPair.value !== null)
        this.textSettings.comparedPair.set(null);
    });
  }

  openComparison(card: TagCard): void {
    const pair = findDefaultTextPair(
      this.stepLoader.get(card.tag) ?? [],
      this.stepSelection.stepOf(card.id),
    );
    if (!pair) return;
    this.settings.fullScreen.set(card.id, 'push');
    this.textSettings.comparedPair.set(pair);
  }

  override clearSelection(): void {
    if (this.textSettings.comparedPair.value !== null)
      this.textSettings.comparedPair.set(null, 'push');
    else super.clearSelection();
  }
}

export const [getTextState, setTextState] = createContext<TextState>();

const MIN_CARD_HEIGHT_PX = 260;
const MAX_CARD_HEIGHT_PX = 520;
const HEIGHT_TO_WIDTH = 0.7;

/** Return the height of a card in pixels. */
export function textCardHeight(width: number): number {
  return Math.round(
    Math.min(MAX_CARD_HEIGHT_PX, Math.max(MIN_CARD_HEIGHT_PX, width * HEIGHT_TO_WIDTH)),
  );
}

/** Register the shortcuts that other card grids do not have; return a function that removes them. */
export function registerTextShortcuts(texts: TextState, focusSearch: () => void): () => void {
  const { format, stepMode } = texts.textSettings;
  const shortcuts: Omit<Shortcut, 'group'>[] = [
    { keys: '/', label: m.searchLabel, run: focusSearch },
    { keys: 'n', label: common.nextMatch, run: () => texts.search.moveBy(1) },
    { keys: 'Shift+N', label: common.previousMatch, run: () => texts.search.moveBy(-1) },
    {
      keys: 'r',
      label: m.shortcutsToggleRaw,
      run: () => format.set(format.value === 'raw' ? 'markdown' : 'raw'),
    },
    {
      keys: 'a',
      label: m.shortcutsToggleAllSteps,
      run: () => stepMode.set(stepMode.value === 'all' ? 'step' : 'all'),
    },
    {
      keys: 'c',
      label: m.compareAction,
      run: () => {
        const card = texts.activeCardId === null ? undefined : texts.findCard(texts.activeCardId);
        if (card && texts.canCompare) texts.openComparison(card);
      },
    },
  ];
  const group = texts.info.title;
  const removers = shortcuts.map((shortcut) =>
    texts.context.shortcuts.register({ ...shortcut, group }),
  );
  return () => removers.forEach((remove) => remove());
}

/** Return the menu items that cards of other dashboards do not have. */
export function makeTextCardMenu(
  texts: TextState,
  card: TagCard,
  showPython: () => void,
): MenuItem[] {
  const compare: MenuItem = {
    label: m.compareAction,
    hint: 'c',
    disabled: (texts.stepLoader.get(card.tag) ?? []).length === 0,
    run: () => texts.openComparison(card),
  };
  const python: MenuItem = { label: common.copyAsPython, run: showPython };
  return texts.canCompare ? [compare, python] : [python];
}

interface TextPythonOptions {
  readonly roots: readonly LogRoot[];
  readonly runs: readonly string[];
  readonly tag: string;
}

/** Return Python code that reads the texts of a card. */
export function makeTextPythonCode({ roots, runs, tag }: TextPythonOptions): string {
  return [
    ...openLogLines(roots),
    `for run in [${runs.map(quotePython).join(', ')}]:`,
    `    texts = log.text(run, ${quotePython(tag)})`,
    '    for step, text in zip(texts.step, texts):',
    `        print(run, step, text)  # ${m.pythonRank}`,
    '',
  ].join('\n');
}

/** The text of a run at a step; null is the last step. */
export interface TextRef {
  readonly run: string;
  readonly step: number | null;
}

export interface TextPair {
  readonly before: TextRef;
  readonly after: TextRef;
}

/** Writes a pair as `run,step,run,step`. */
export const textPairCodec: Codec<TextPair | null> = {
  parse(text) {
    const [run, step, otherRun, otherStep] = list.parse(text);
    if (run === undefined || otherRun === undefined) return null;
    return {
      before: { run, step: parseStep(step) },
      after: { run: otherRun, step: parseStep(otherStep) },
    };
  },
  format: (pair) =>
    pair === null ? '' : list.format([pair.before, pair.after].flatMap(formatTextRef)),
};

function formatTextRef({ run, step }: TextRef): string[] {
  return [run, step === null ? '' : String(step)];
}

function parseStep(text = ''): number | null {
  const step = text === '' ? NaN : Number(text);
  return Number.isFinite(step) ? step : null;
}

/** Return the texts to compare first: of two runs at the same step, or the last two of one run. */
export function findDefaultTextPair(
  series: readonly SortedSteps[],
  step: number | null,
): TextPair | null {
  const [first, second] = series;
  if (!first) return null;
  if (second) return { before: { run: first.run, step }, after: { run: second.run, step } };
  const position = indexAtStep(first, step);
  const before = first.step[position - 1] ?? first.step[0] ?? null;
  return { before: { run: first.run, step: before }, after: { run: first.run, step } };
}

const TEXT_FORMATS = ['markdown', 'raw'] as const;
/** The texts at one step, or of all steps. */
const STEP_MODES = ['step', 'all'] as const;
const DIFF_LAYOUTS = ['beside', 'unified'] as const;

export const FORMAT_OPTIONS = [
  { value: 'markdown', label: common.formatMarkdown },
  { value: 'raw', label: m.formatRaw },
] as const;
export const STEP_MODE_OPTIONS = [
  { value: 'step', label: m.stepsOne },
  { value: 'all', label: common.allSteps },
] as const;

type TextSettings = ReturnType<typeof createTextSettings>;

/** Create the settings that other card grids do not have. */
function createTextSettings({ url, preferences }: Pick<Context, 'url' | 'preferences'>) {
  return {
    format: url.param('text-format', choice(TEXT_FORMATS, 'markdown'), 'markdown'),
    stepMode: url.param('step-mode', choice(STEP_MODES, 'step'), 'step'),
    query: url.param('q', text, ''),
    queryRegex: url.param('q-regex', flag, false),
    queryCase: url.param('q-case', flag, false),
    /** Per card, the index into the leading dimensions of an array, such as `0,2`. */
    slices: url.param('slice', slicesCodec, new Map()),
    /** The two texts of the full-screen card that are compared. */
    comparedPair: url.param('text-compare', textPairCodec, null as TextPair | null),
    changesOnly: url.param('changes-only', flag, true),
    diffLayout: preferences.param('text-diff-layout', choice(DIFF_LAYOUTS, 'beside'), 'beside'),
    wrapLines: preferences.param('text-wrap', flag, true),
  };
}

const slicesCodec = makePerCardCodec<string>(
  1,
  ([slice = '']) => (/^\d+(,\d+)*$/.test(slice) ? slice : null),
  (slice) => [slice],
);
