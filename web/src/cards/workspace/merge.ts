/** Merge the changes that two users made to one document at the same time. */
import type { BoardCard, BoardDocument, BoardSection } from './document';

/**
 * Return the stored document with the changes between `base` and `mine`; null if both users changed
 * the same card, section title, name or text in different ways, so that one change would be lost.
 */
export function mergeDocuments(
  base: BoardDocument,
  mine: BoardDocument,
  theirs: BoardDocument,
): BoardDocument | null {
  const name = mergeValue(base.name, mine.name, theirs.name);
  const text = mergeValue(base.text, mine.text, theirs.text);
  const settings = mergeValue(base.settings, mine.settings, theirs.settings);
  const sections = mergeItems(base.sections, mine.sections, theirs.sections, mergeSection);
  if (name === CONFLICT || text === CONFLICT || settings === CONFLICT || sections === CONFLICT)
    return null;
  const merged = { ...theirs, name, text, settings, sections };
  // A card that one user moved to another section may now be in two.
  const ids = sections.flatMap(({ cards }) => cards.map(({ id }) => id));
  return new Set(ids).size === ids.length ? merged : null;
}

const CONFLICT = Symbol('conflict');
type Conflict = typeof CONFLICT;

interface Item {
  readonly id: string;
}

function mergeSection(
  base: BoardSection,
  mine: BoardSection,
  theirs: BoardSection,
): BoardSection | Conflict {
  const title = mergeValue(base.title, mine.title, theirs.title);
  const cards = mergeItems(base.cards, mine.cards, theirs.cards, mergeValue<BoardCard>);
  // Whether a section is collapsed is not worth a question.
  const collapsed = mine.collapsed === base.collapsed ? theirs.collapsed : mine.collapsed;
  if (title === CONFLICT || cards === CONFLICT) return CONFLICT;
  return { id: theirs.id, title, collapsed, cards };
}

/** Merge lists of items with ids: each item by itself, and the order. */
function mergeItems<T extends Item>(
  base: readonly T[],
  mine: readonly T[],
  theirs: readonly T[],
  merge: (base: T, mine: T, theirs: T) => T | Conflict,
): readonly T[] | Conflict {
  const [baseById, mineById, theirsById] = [base, mine, theirs].map(indexById) as [
    ReadonlyMap<string, T>,
    ReadonlyMap<string, T>,
    ReadonlyMap<string, T>,
  ];
  const merged = new Map<string, T>();
  for (const id of new Set([...theirsById.keys(), ...mineById.keys()])) {
    const [before, own, other] = [baseById.get(id), mineById.get(id), theirsById.get(id)];
    const item = mergeItem(before, own, other, merge);
    if (item === CONFLICT) return CONFLICT;
    if (item !== null) merged.set(id, item);
  }
  return mergeOrder(base, mine, theirs).flatMap((id) => merged.get(id) ?? []);
}

/** Return null for an item that one of the users has removed. */
function mergeItem<T extends Item>(
  before: T | undefined,
  own: T | undefined,
  other: T | undefined,
  merge: (base: T, mine: T, theirs: T) => T | Conflict,
): T | Conflict | null {
  if (own && other && before) return merge(before, own, other);
  if (own && other) return isEqual(own, other) ? other : CONFLICT;
  const remaining = own ?? other;
  if (!remaining || !before) return remaining ?? null;
  // One user removed it: that is fine unless the other one changed it.
  return isEqual(before, remaining) ? null : CONFLICT;
}

/** Return the ids in my order if I changed it, else in theirs; items of the other stay in place. */
function mergeOrder(
  base: readonly Item[],
  mine: readonly Item[],
  theirs: readonly Item[],
): string[] {
  const [before, own, other] = [base, mine, theirs].map((items) => items.map(({ id }) => id)) as [
    string[],
    string[],
    string[],
  ];
  const wasMoved = !isEqual(
    own.filter((id) => before.includes(id)),
    before.filter((id) => own.includes(id)),
  );
  const [first, second] = wasMoved ? [own, other] : [other, own];
  const order = [...first];
  for (const [at, id] of second.entries()) {
    if (order.includes(id)) continue;
    const previous = second.slice(0, at).findLast((earlier) => order.includes(earlier));
    order.splice(previous === undefined ? 0 : order.indexOf(previous) + 1, 0, id);
  }
  return order;
}

function mergeValue<T>(base: T, mine: T, theirs: T): T | Conflict {
  if (isEqual(mine, base) || isEqual(mine, theirs)) return theirs;
  return isEqual(theirs, base) ? mine : CONFLICT;
}

function indexById<T extends Item>(items: readonly T[]): ReadonlyMap<string, T> {
  return new Map(items.map((item) => [item.id, item]));
}

/** Compare values of JSON; the order of keys does not matter. */
export function isEqual(one: unknown, other: unknown): boolean {
  return one === other || normalize(one) === normalize(other);
}

function normalize(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    part && typeof part === 'object' && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}
