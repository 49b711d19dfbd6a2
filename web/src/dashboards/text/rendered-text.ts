/** What a text gets that is read in the page: code can be copied, wide things scroll by themselves. */
export function enhanceRenderedText(element: HTMLElement): void {
  shiftHeadings(element);
  for (const block of element.querySelectorAll<HTMLElement>('pre')) addCopyButton(block);
  for (const table of element.querySelectorAll('table')) makeScrollable(table, 'Table');
  for (const formula of element.querySelectorAll('div > math[display="block"]')) {
    makeScrollable(formula, 'Formula');
  }
}

/** The title of a card. */
const CARD_LEVEL = 3;

/** For who listens to the page, headings of a text stand below that of its card. */
function shiftHeadings(element: HTMLElement): void {
  const headings = [...element.querySelectorAll('h1, h2, h3, h4, h5, h6')];
  const levels = headings.map(({ localName }) => Number(localName.slice(1)));
  shiftHeadingLevels(levels, CARD_LEVEL).forEach((level, at) => {
    headings[at]?.setAttribute('aria-level', String(level));
  });
}

const COPIED_MESSAGE_MS = 1500;

function addCopyButton(block: HTMLElement): void {
  const box = wrap(block, 'code');
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Copy';
  button.addEventListener('click', () => void copyCode(block, button));
  box.append(button);
  makeFocusable(block, 'Code');
}

async function copyCode(block: HTMLElement, button: HTMLButtonElement): Promise<void> {
  try {
    await navigator.clipboard.writeText(block.textContent ?? '');
    button.textContent = 'Copied';
  } catch {
    // Without leave to use the clipboard the lines are at least marked for Ctrl-C.
    getSelection()?.selectAllChildren(block);
    button.textContent = 'Press Ctrl-C';
  }
  setTimeout(() => (button.textContent = 'Copy'), COPIED_MESSAGE_MS);
}

function makeScrollable(element: Element, name: string): void {
  makeFocusable(wrap(element, 'wide'), name);
}

/** What scrolls sideways has to be scrolled by keyboard as well. */
function makeFocusable(element: HTMLElement, name: string): void {
  element.tabIndex = 0;
  element.setAttribute('role', 'group');
  element.setAttribute('aria-label', name);
}

function wrap(element: Element, name: string): HTMLDivElement {
  const box = document.createElement('div');
  box.className = name;
  element.replaceWith(box);
  box.append(element);
  return box;
}

/**
 * Levels for the headings of a text that stands below a heading of level `above`: whichever levels
 * the text uses, none is left out on the way down.
 */
export function shiftHeadingLevels(levels: readonly number[], above: number): number[] {
  const used = levels.filter((level, at) => levels.indexOf(level) === at).sort((a, b) => a - b);
  let before = above;
  return levels.map((level) => {
    before = Math.min(above + 1 + used.indexOf(level), before + 1);
    return before;
  });
}

/** Marks are laid over the text by the browser, so that the text itself stays as it is. */
const MATCH_HIGHLIGHT = 'text-found';
const CURRENT_HIGHLIGHT = 'text-current';

export interface HighlightTerms {
  readonly terms: readonly string[];
  readonly matchCase: boolean;
}

/** Marks all places of some words inside an element; returns them and how to take the marks away. */
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

/** One place stands out from all others; null: none. */
export function highlightCurrent(range: Range | null): void {
  const highlight = getHighlight(CURRENT_HIGHLIGHT);
  highlight?.clear();
  if (range) highlight?.add(range);
}

/** Browsers that know nothing of it show the text without marks. */
function getHighlight(name: string): Highlight | null {
  if (!('highlights' in CSS)) return null;
  const known = CSS.highlights.get(name);
  if (known) return known;
  const made = new Highlight();
  if (name === CURRENT_HIGHLIGHT) made.priority = 1;
  CSS.highlights.set(name, made);
  return made;
}

/** Words may go over the borders of nodes: the text of a block is looked through as one. */
function findRanges(element: HTMLElement, words: readonly string[], matchCase: boolean): Range[] {
  const nodes: { node: Node; start: number }[] = [];
  let whole = '';
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    nodes.push({ node, start: whole.length });
    whole += node.nodeValue ?? '';
  }
  const placeAt = (offset: number, atEnd: boolean): { node: Node; offset: number } | null => {
    const found = nodes.findLast(({ start }) => (atEnd ? start < offset : start <= offset));
    return found ? { node: found.node, offset: offset - found.start } : null;
  };
  return findSpans(whole, words, matchCase).flatMap(({ start, stop }) => {
    const [from, to] = [placeAt(start, false), placeAt(stop, true)];
    if (!from || !to) return [];
    const range = document.createRange();
    range.setStart(from.node, from.offset);
    range.setEnd(to.node, to.offset);
    return [range];
  });
}

/** A stretch of a text. */
export interface TextSpan {
  readonly start: number;
  readonly stop: number;
}

/** More are not marked in one text. */
const MAX_SPANS = 2000;

/** Where any of some words stand in a text, in order and never one over the other. */
export function findSpans(text: string, words: readonly string[], matchCase: boolean): TextSpan[] {
  const hay = foldCase(text, matchCase);
  const spans = words.flatMap((word) => findTerm(hay, foldCase(word, matchCase)));
  spans.sort((a, b) => a.start - b.start || b.stop - a.stop);
  const kept: TextSpan[] = [];
  for (const span of spans) {
    if (span.start >= (kept.at(-1)?.stop ?? 0)) kept.push(span);
  }
  return kept.slice(0, MAX_SPANS);
}

function findTerm(hay: string, word: string): TextSpan[] {
  const spans: TextSpan[] = [];
  let at = word === '' ? -1 : hay.indexOf(word);
  while (at >= 0 && spans.length < MAX_SPANS) {
    spans.push({ start: at, stop: at + word.length });
    at = hay.indexOf(word, at + word.length);
  }
  return spans;
}

/** Letters whose small form is longer would move all that comes after them. */
function foldCase(text: string, matchCase: boolean): string {
  if (matchCase) return text;
  const small = text.toLowerCase();
  return small.length === text.length
    ? small
    : Array.from(text, (sign) =>
        sign.toLowerCase().length === sign.length ? sign.toLowerCase() : sign,
      ).join('');
}
