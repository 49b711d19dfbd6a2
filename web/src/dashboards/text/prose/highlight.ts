import { findSpans } from './found';

/** Marks are laid over the text by the browser, so that the text itself stays as it is. */
const FOUND = 'text-found';
const CURRENT = 'text-current';

export interface Words {
  readonly words: readonly string[];
  readonly matchCase: boolean;
}

/** Marks all places of some words inside an element; returns them and how to take the marks away. */
export function markWords(
  element: HTMLElement,
  { words, matchCase }: Words,
): { ranges: readonly Range[]; clear: () => void } {
  const highlight = highlightOf(FOUND);
  if (!highlight || words.length === 0) return { ranges: [], clear: () => undefined };
  const ranges = findRanges(element, words, matchCase);
  ranges.forEach((range) => highlight.add(range));
  return { ranges, clear: () => ranges.forEach((range) => highlight.delete(range)) };
}

/** One place stands out from all others; null: none. */
export function markCurrent(range: Range | null): void {
  const highlight = highlightOf(CURRENT);
  highlight?.clear();
  if (range) highlight?.add(range);
}

/** Browsers that know nothing of it show the text without marks. */
function highlightOf(name: string): Highlight | null {
  if (!('highlights' in CSS)) return null;
  const known = CSS.highlights.get(name);
  if (known) return known;
  const made = new Highlight();
  if (name === CURRENT) made.priority = 1;
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
