/** Make HTML that the server rendered from Markdown usable in the page, and highlight search terms in it. */
import * as common from '../../catalog/common';
import * as m from '../../catalog/text';
import { copyText } from '../../lib/download';
import { getKeyLabels } from '../../lib/keyboard';

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

export interface TextSpan {
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
