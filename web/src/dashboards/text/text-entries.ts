/**
 * The texts of a card, rows of a diff, pages of an array of strings, and the queries for them. HTML that the
 * server rendered from Markdown becomes usable in the page, with highlighted search terms.
 */
import { defineQuery } from '../../api/query-definition';
import type { TextDiffLine } from '../../api/schemas';
import { indexAtStep, type SortedSteps } from '../../cards/steps/step-selection.svelte';
import * as common from '../../catalog/common';
import * as m from '../../catalog/text';
import { copyText, getKeyLabels } from '../../lib/browser';

/** One text of a card. */
export interface TextEntry {
  /** Identifies the entry when the list changes. */
  readonly key: string;
  readonly steps: SortedSteps;
  /** Index in `steps`. */
  readonly position: number;
}

/** Return the last text of each run up to a step; null is the last step. */
export function listEntriesAt(series: readonly SortedSteps[], step: number | null): TextEntry[] {
  return series.flatMap((steps) => {
    const position = indexAtStep(steps, step);
    return position < 0 ? [] : [{ key: steps.run, steps, position }];
  });
}

/** Return all texts, newest first; texts of the same step are in the order of the runs. */
export function listAllEntries(series: readonly SortedSteps[]): TextEntry[] {
  const entries = series.flatMap((steps) =>
    Array.from(steps.step, (_, position) => ({ key: entryKey(steps, position), steps, position })),
  );
  return entries.sort((a, b) => getEntryStep(b) - getEntryStep(a));
}

export function getEntryStep({ steps, position }: TextEntry): number {
  return steps.step[position] ?? 0;
}

function entryKey({ run, index, fingerprint }: SortedSteps, position: number): string {
  return `${run}\n${index[position]}\n${fingerprint[position]}`;
}

/** A row of a side-by-side diff; null is an empty cell. */
interface DiffRow {
  readonly before: TextDiffLine | null;
  readonly after: TextDiffLine | null;
}

/** Arrange the lines of a unified diff side by side: removed lines next to those that replace them. */
export function alignDiffLines(lines: readonly TextDiffLine[]): DiffRow[] {
  const rows: DiffRow[] = [];
  let removed: TextDiffLine[] = [];
  let added: TextDiffLine[] = [];
  const flush = (): void => {
    const count = Math.max(removed.length, added.length);
    for (let index = 0; index < count; index++) {
      rows.push({ before: removed[index] ?? null, after: added[index] ?? null });
    }
    removed = [];
    added = [];
  };
  for (const line of lines) {
    if (line.kind === 'removed') removed.push(line);
    else if (line.kind === 'added') added.push(line);
    else {
      flush();
      rows.push({ before: line, after: line });
    }
  }
  flush();
  return rows;
}

/** The page size of the server. */
export const MAX_TABLE_ROWS = 50;
export const MAX_TABLE_COLUMNS = 20;

/** A range of rows or columns of a large table. */
export interface TablePage {
  readonly first: number;
  /** Exclusive. */
  readonly end: number;
  readonly count: number;
  /** First index of the neighboring pages. */
  readonly previous: number | null;
  readonly next: number | null;
}

export function getTablePage(
  first: number,
  shown: number,
  count: number,
  maxSize: number,
): TablePage {
  const end = first + shown;
  return {
    first,
    end,
    count,
    previous: first > 0 ? Math.max(0, first - maxSize) : null,
    next: end < count ? end : null,
  };
}

/** Return the size of the tables in an array; a list is one column. */
export function getTableSize(shape: readonly number[]): { rows: number; columns: number } {
  if (shape.length === 1) return { rows: shape[0] ?? 0, columns: 1 };
  const [rows = 0, columns = 0] = shape.slice(-2);
  return { rows, columns };
}

/** Return a slice with another index in one dimension, clamped to its size. */
export function updateSlice(
  fixed: readonly number[],
  shape: readonly number[],
  dimension: number,
  index: number,
): string {
  const size = shape[dimension] ?? 1;
  const clamped = Math.max(0, Math.min(size - 1, Math.round(index)));
  return fixed.map((old, at) => (at === dimension ? clamped : old)).join(',');
}

const MAX_CACHED_CHARACTERS = 20_000_000;

/** A text as rendered by the server. */
export const textQuery = defineQuery('GET text/render', {
  scope: 'immutable',
  cost: ({ cells }) =>
    cells.reduce((sum, { html, text }) => sum + (html ?? '').length + (text ?? '').length, 0),
  maxCost: MAX_CACHED_CHARACTERS,
});

/** A text as it was logged. */
export const rawTextQuery = defineQuery('GET text/raw', {
  scope: 'immutable',
  isFile: true,
  priority: 'high',
  cost: ({ size }) => size,
  maxCost: 1 << 20,
});

export const textDiffQuery = defineQuery('POST text/diff', {
  scope: 'immutable',
  priority: 'high',
});

/** One page of search results. */
export const textSearchQuery = defineQuery('POST text/search', {
  scope: ({ runs = null }) => ({ runs }),
  // Hundreds of texts may be loading.
  priority: 'high',
});

/** Add copy buttons to code blocks, make wide content scrollable and adjust heading levels. */
export function enhanceRenderedText(element: HTMLElement): void {
  shiftHeadings(element);
  for (const block of element.querySelectorAll<HTMLElement>('pre')) addCopyButton(block);
  for (const table of element.querySelectorAll('table')) makeScrollable(table, common.table);
  for (const formula of element.querySelectorAll('div > math[display="block"]')) {
    makeScrollable(formula, m.renderedFormula);
  }
}

/** Heading level of card titles. */
const CARD_LEVEL = 3;

/** For screen readers, the headings of a text are below that of its card. */
function shiftHeadings(element: HTMLElement): void {
  const headings = [...element.querySelectorAll('h1, h2, h3, h4, h5, h6')];
  const levels = headings.map(({ localName }) => Number(localName.slice(1)));
  shiftHeadingLevels(levels, CARD_LEVEL).forEach((level, index) => {
    headings[index]?.setAttribute('aria-level', String(level));
  });
}

const COPIED_MESSAGE_MS = 1500;

function addCopyButton(block: HTMLElement): void {
  const wrapper = wrap(block, 'code');
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = common.copy;
  button.addEventListener('click', () => void copyCode(block, button));
  wrapper.append(button);
  makeFocusable(block, common.code);
}

async function copyCode(block: HTMLElement, button: HTMLButtonElement): Promise<void> {
  if (await copyText(block.textContent ?? '')) button.textContent = common.copied;
  else {
    getSelection()?.selectAllChildren(block);
    button.textContent = common.pressCopy({ shortcut: getKeyLabels('Mod+C').join('+') });
  }
  setTimeout(() => (button.textContent = common.copy), COPIED_MESSAGE_MS);
}

function makeScrollable(element: Element, label: string): void {
  makeFocusable(wrap(element, 'wide'), label);
}

/** Scrollable content needs the focus to be scrolled by keyboard. */
function makeFocusable(element: HTMLElement, label: string): void {
  element.tabIndex = 0;
  element.setAttribute('role', 'group');
  element.setAttribute('aria-label', label);
}

function wrap(element: Element, className: string): HTMLDivElement {
  const wrapper = document.createElement('div');
  wrapper.className = className;
  element.replaceWith(wrapper);
  wrapper.append(element);
  return wrapper;
}

/**
 * Return levels for headings below a heading of level `above`, so that no level is skipped.
 */
export function shiftHeadingLevels(levels: readonly number[], above: number): number[] {
  const used = levels
    .filter((level, index) => levels.indexOf(level) === index)
    .sort((a, b) => a - b);
  let previous = above;
  return levels.map((level) => {
    previous = Math.min(above + 1 + used.indexOf(level), previous + 1);
    return previous;
  });
}

/** Names of CSS custom highlights, which leave the DOM unchanged. */
const MATCH_HIGHLIGHT = 'text-match';
const CURRENT_HIGHLIGHT = 'text-current';

export interface HighlightTerms {
  readonly terms: readonly string[];
  readonly matchCase: boolean;
}

/** Highlight all occurrences of some terms within an element. */
export function highlightTerms(
  element: HTMLElement,
  { terms, matchCase }: HighlightTerms,
): { ranges: readonly Range[]; clear: () => void } {
  const highlight = getHighlight(MATCH_HIGHLIGHT);
  if (!highlight || terms.length === 0) return { ranges: [], clear: () => undefined };
  const ranges = findRanges(element, terms, matchCase);
  ranges.forEach((range) => highlight.add(range));
  return { ranges, clear: () => ranges.forEach((range) => highlight.delete(range)) };
}

/** Highlight the selected match; null removes the highlight. */
export function highlightCurrent(range: Range | null): void {
  const highlight = getHighlight(CURRENT_HIGHLIGHT);
  highlight?.clear();
  if (range) highlight?.add(range);
}

/** Return a highlight of the page; null if the browser does not support them. */
function getHighlight(name: string): Highlight | null {
  if (!('highlights' in CSS)) return null;
  const existing = CSS.highlights.get(name);
  if (existing) return existing;
  const highlight = new Highlight();
  if (name === CURRENT_HIGHLIGHT) highlight.priority = 1;
  CSS.highlights.set(name, highlight);
  return highlight;
}

/** Return the ranges of some terms, which may span several text nodes. */
function findRanges(element: HTMLElement, terms: readonly string[], matchCase: boolean): Range[] {
  const nodes: { node: Node; start: number }[] = [];
  let content = '';
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    nodes.push({ node, start: content.length });
    content += node.nodeValue ?? '';
  }
  const locate = (offset: number, atEnd: boolean): { node: Node; offset: number } | null => {
    const found = nodes.findLast(({ start }) => (atEnd ? start < offset : start <= offset));
    return found ? { node: found.node, offset: offset - found.start } : null;
  };
  return findSpans(content, terms, matchCase).flatMap(({ start, stop }) => {
    const [from, to] = [locate(start, false), locate(stop, true)];
    if (!from || !to) return [];
    const range = document.createRange();
    range.setStart(from.node, from.offset);
    range.setEnd(to.node, to.offset);
    return [range];
  });
}

interface TextSpan {
  readonly start: number;
  readonly stop: number;
}

/** Limit on the highlighted spans of one text. */
const MAX_SPANS = 2000;

/** Return where any of some terms occur in a text, in order and without overlaps. */
export function findSpans(text: string, terms: readonly string[], matchCase: boolean): TextSpan[] {
  const haystack = foldCase(text, matchCase);
  const spans = terms.flatMap((term) => findTerm(haystack, foldCase(term, matchCase)));
  spans.sort((a, b) => a.start - b.start || b.stop - a.stop);
  const kept: TextSpan[] = [];
  for (const span of spans) {
    if (span.start >= (kept.at(-1)?.stop ?? 0)) kept.push(span);
  }
  return kept.slice(0, MAX_SPANS);
}

function findTerm(haystack: string, term: string): TextSpan[] {
  const spans: TextSpan[] = [];
  let start = term === '' ? -1 : haystack.indexOf(term);
  while (start >= 0 && spans.length < MAX_SPANS) {
    spans.push({ start, stop: start + term.length });
    start = haystack.indexOf(term, start + term.length);
  }
  return spans;
}

/** Convert to lower case without changing the length, so that offsets stay valid. */
function foldCase(text: string, matchCase: boolean): string {
  if (matchCase) return text;
  const lower = text.toLowerCase();
  return lower.length === text.length
    ? lower
    : Array.from(text, (character) =>
        character.toLowerCase().length === character.length ? character.toLowerCase() : character,
      ).join('');
}
