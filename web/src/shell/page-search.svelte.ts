/** Results of the command palette for dashboards, tags, runs, and actions of the page. */
import { createQuery, type Query } from '../api/create-query.svelte';
import { defineQuery } from '../api/query-definition';
import * as common from '../catalog/common';
import * as runMessages from '../catalog/runs';
import * as m from '../catalog/shell';
import { flag, text } from '../lib/codecs';
import { groupingCodec } from '../lib/grouping';
import { getKeyLabels } from '../lib/browser';
import type { Command } from '../plugin/context';
import type { PageState } from '../state/page-state.svelte';
import { makeExpression } from '../state/runs/paged-run-list.svelte';
import { listActions } from './page-actions';

const MAX_COMMANDS = 6;

/** Return the actions whose labels contain all words of a query. */
export function findRunCommands(page: PageState, query: string): Command[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  return [...selectionCommands(page), ...hparamCommands(page), ...metricCommands(page)]
    .filter(({ label }) => words.every((word) => label.toLowerCase().includes(word)))
    .slice(0, MAX_COMMANDS);
}

function selectionCommands({ selectedRuns, runGroups }: PageState): Command[] {
  return [
    makeCommand(runMessages.headSelectAll, () => selectedRuns.setMatchingSelected(true)),
    makeCommand(runMessages.commandDeselectAll, () => selectedRuns.setMatchingSelected(false)),
    makeCommand(runMessages.commandInvert, () => selectedRuns.invert()),
    makeCommand(runMessages.commandUngroup, () => runGroups.groupBy(null)),
  ];
}

function hparamCommands(page: PageState): Command[] {
  const { columnValues, runGroups, runColors, visibleColumns } = page;
  return columnValues.available.hparams.flatMap(({ name }) => {
    const key = `hparam:${name}`;
    return [
      makeCommand(runMessages.commandGroupBy({ name }), () =>
        runGroups.groupBy(groupingCodec.parse(key)),
      ),
      makeCommand(runMessages.commandColorBy({ name }), () =>
        runColors.setColorBy({ by: 'column', key }),
      ),
      makeCommand(runMessages.commandAddColumn({ name }), () => visibleColumns.add(key)),
    ];
  });
}

function metricCommands({ columnValues, visibleColumns }: PageState): Command[] {
  return columnValues.available.metrics.map((tag) =>
    makeCommand(runMessages.commandAddLastColumn({ tag }), () => visibleColumns.add(`last:${tag}`)),
  );
}

function makeCommand(label: string, run: () => void): Command {
  return { label, kind: 'Action', hint: runMessages.commandHint, run };
}

export interface FuzzyMatch<Item> {
  readonly item: Item;
  readonly score: number;
}

const WHOLE_WORD = 100;
const WORD_START = 60;
const INSIDE = 40;
const INITIALS = 10;

/**
 * Searches names that contain every word of a query, literally or as initials of their parts
 * (`vacc` for validation/accuracy). Matches at the start of a part rank higher, and so do short
 * names.
 */
export class FuzzyIndex<Item> {
  readonly #items: readonly Item[];
  readonly #names: readonly string[];

  constructor(items: readonly Item[], nameOf: (item: Item) => string) {
    this.#items = items;
    this.#names = items.map((item) => nameOf(item).toLowerCase());
  }

  search(query: string, limit: number): FuzzyMatch<Item>[] {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    const found: FuzzyMatch<Item>[] = [];
    this.#items.forEach((item, at) => {
      const score = scoreName(words, this.#names[at] ?? '');
      if (score > 0) found.push({ item, score });
    });
    return found.sort((one, other) => other.score - one.score).slice(0, limit);
  }
}

/** Return the score of a name; zero if a word is missing. */
function scoreName(words: readonly string[], name: string): number {
  let sum = 0;
  for (const word of words) {
    const score = scoreWord(word, name);
    if (score === 0) return 0;
    sum += score;
  }
  return sum + 1 / (1 + name.length);
}

function scoreWord(word: string, name: string): number {
  let best = 0;
  for (let at = name.indexOf(word); at >= 0; at = name.indexOf(word, at + 1)) {
    const starts = at === 0 || isSeparator(name, at - 1);
    const ends = at + word.length === name.length || isSeparator(name, at + word.length);
    best = Math.max(best, starts ? (ends ? WHOLE_WORD : WORD_START) : INSIDE);
  }
  return best || (matchesInitials(word, name, 0) ? INITIALS : 0);
}

/** Return whether a character separates words. Non-ASCII characters count as letters. */
function isSeparator(name: string, at: number): boolean {
  const code = name.charCodeAt(at);
  return code < 0x80 && !(code >= 0x61 && code <= 0x7a) && !(code >= 0x30 && code <= 0x39);
}

/** Return whether the letters are prefixes of successive parts, starting at `from`. */
function matchesInitials(letters: string, name: string, from: number): boolean {
  if (letters === '') return true;
  const first = letters[0] ?? '';
  for (let at = name.indexOf(first, from); at >= 0; at = name.indexOf(first, at + 1)) {
    if (at > 0 && !isSeparator(name, at - 1)) continue;
    let length = 1;
    while (length < letters.length && name[at + length] === letters[length]) length++;
    for (; length > 0; length--) {
      if (matchesInitials(letters.slice(length), name, at + length)) return true;
    }
  }
  return false;
}

const MAX_RUN_RESULTS = 8;
const MAX_TAG_RESULTS = 8;

/** The first runs of a large log whose names contain all words. */
const runSearchQuery = defineQuery('POST runs/list', {
  scope: 'log',
  select: ({ rows }) => rows.flatMap(({ run }) => run?.name ?? []),
  maxCost: 20,
});

export class PageSearch {
  readonly #page: PageState;
  readonly #largeLogRuns: Query<readonly string[]>;

  // Built once for many keystrokes, when the first query is typed.
  readonly #runIndex = $derived.by(
    () => new FuzzyIndex(this.#page.liveLog.runs, ({ name }) => name),
  );
  readonly #tagIndex = $derived.by(() => new FuzzyIndex(this.#page.tags.rows, ({ tag }) => tag));
  readonly #dashboardIndex = $derived.by(
    () => new FuzzyIndex(this.#page.dashboards.entries, ({ title }) => title),
  );
  readonly #actionIndex = $derived.by(
    () => new FuzzyIndex(listActions(this.#page), ({ label }) => label()),
  );

  /** Create it in a component. `query` is reactive. */
  constructor(page: PageState, query: () => string) {
    this.#page = page;
    this.#largeLogRuns = createQuery(page.queries, runSearchQuery, () =>
      page.liveLog.isLarge && query().trim() !== ''
        ? { filter: makeExpression('text', query()), limit: MAX_RUN_RESULTS }
        : null,
    );
  }

  find(query: string): Command[] {
    const found = [...this.#findDashboards(query), ...this.#findTags(query)];
    const actions = [...this.#findActions(query), ...findRunCommands(this.#page, query)];
    return [...found, ...this.#findRuns(query), ...actions];
  }

  #findDashboards(query: string): Command[] {
    const { dashboards } = this.#page;
    return this.#dashboardIndex.search(query, dashboards.entries.length).map(({ item }) => ({
      label: item.title,
      kind: 'Dashboard',
      ...(item.active ? {} : { hint: common.noData }),
      run: () => dashboards.open(item.name),
    }));
  }

  #findTags(query: string): Command[] {
    if (!query.trim()) return [];
    return this.#tagIndex.search(query, MAX_TAG_RESULTS).map(({ item }) => ({
      label: item.tag,
      kind: 'Tag',
      hint: m.commandsTagKind({ kind: item.kind }),
      run: () => showTag(this.#page, item.tag),
    }));
  }

  #findRuns(query: string): Command[] {
    if (!query.trim()) return [];
    return this.#listRuns(query).map((name) => ({
      label: name,
      kind: 'Run',
      hint: m.commandsRunHint,
      run: () => this.#page.runs.solo(name),
    }));
  }

  #listRuns(query: string): readonly string[] {
    if (this.#page.liveLog.isLarge) return this.#largeLogRuns.data ?? [];
    return this.#runIndex.search(query, MAX_RUN_RESULTS).map(({ item }) => item.name);
  }

  #findActions(query: string): Command[] {
    return this.#actionIndex.search(query, Infinity).map(({ item }) => ({
      label: item.label(),
      kind: 'Action',
      ...(item.keys ? { hint: getKeyLabels(item.keys).join(' ') } : {}),
      run: item.run,
    }));
  }
}

/** Filter tags by this one, in the first dashboard that can show it. */
export function showTag({ tags, dashboards, url }: PageState, tag: string): void {
  const plugin = tags.rows.find((row) => row.tag === tag)?.plugin ?? '';
  const entry = dashboards.findByPlugin(plugin);
  if (entry) dashboards.open(entry.name);
  url.param('tags', text, '').set(tag, 'push');
  url.param('tags-regex', flag, false).set(false, 'push');
}
