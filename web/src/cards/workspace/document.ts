/**
 * Workspaces and reports as values (every change returns a changed copy), the settings that a card takes
 * along, and the requests that read and save documents.
 */
import { defineQuery } from '../../api/query-definition';
import { apiRequest } from '../../api/transport';
import { ServerError } from '../../api/errors';
import type {
  BoardCard,
  BoardDocument,
  BoardSection,
  DocumentListResponse,
  DocumentResponse,
  VersionListResponse,
} from '../../api/schemas';
import { list } from '../../lib/codecs';

export type { BoardCard, BoardDocument, BoardSection } from '../../api/schemas';
export type DocumentKind = BoardDocument['kind'];
export type CardSettings = Readonly<Record<string, string>>;

/** The board is this many columns wide. */
export const BOARD_COLUMNS = 12;
export const MIN_CARD_HEIGHT_PX = 80;
export const MAX_CARD_HEIGHT_PX = 2000;

/** Return a random id. `crypto.randomUUID` exists only on localhost and over HTTPS. */
export function makeId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(6));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

export function createDocument(kind: DocumentKind, name: string): BoardDocument {
  const sections = [{ id: makeId(), title: '', collapsed: false, cards: [] }];
  return { id: makeId(), kind, name, text: '', sections, settings: {} };
}

export type NewCard = Pick<BoardCard, 'kind'> & Partial<Omit<BoardCard, 'id' | 'kind'>>;

const USUAL_SIZE = { columns: 4, height: 280 };
const USUAL_SIZES: Readonly<Record<string, typeof USUAL_SIZE>> = {
  hparams: { columns: 12, height: 420 },
  note: { columns: 4, height: 160 },
  pr_curves: { columns: 4, height: 400 },
  runs: { columns: 12, height: 360 },
};

export function createCard(card: NewCard): BoardCard {
  return {
    target: '',
    title: '',
    settings: {},
    runs: null,
    ...(USUAL_SIZES[card.kind] ?? USUAL_SIZE),
    ...card,
    id: makeId(),
  };
}

export function listCards({ sections }: BoardDocument): BoardCard[] {
  return sections.flatMap(({ cards }) => cards);
}

export function findCard(document: BoardDocument, id: string): BoardCard | undefined {
  return listCards(document).find((card) => card.id === id);
}

/** Return the line that shows a card in the Markdown of a report. */
export function formatCardLine(id: string): string {
  return `![[${id}]]`;
}

// ---- cards

/** Add a card to a section, by default the last one; a report also shows it after its text. */
export function addCard(
  document: BoardDocument,
  card: BoardCard,
  sectionId: string | null = null,
): BoardDocument {
  const sections = document.sections.length > 0 ? document.sections : [createSection('')];
  const target = sections.find(({ id }) => id === sectionId) ?? sections.at(-1);
  const text =
    document.kind === 'report'
      ? `${document.text.trimEnd()}\n\n${formatCardLine(card.id)}\n`.trimStart()
      : document.text;
  return {
    ...document,
    text,
    sections: sections.map((section) =>
      section === target ? { ...section, cards: [...section.cards, card] } : section,
    ),
  };
}

export function changeCards(
  document: BoardDocument,
  ids: ReadonlySet<string>,
  change: (card: BoardCard) => BoardCard,
): BoardDocument {
  return mapCards(document, (card) => (ids.has(card.id) ? change(card) : card));
}

export function changeCard(
  document: BoardDocument,
  id: string,
  change: Partial<BoardCard>,
): BoardDocument {
  return changeCards(document, new Set([id]), (card) => ({ ...card, ...change }));
}

/** Remove cards; a report also loses the lines that show them. */
export function removeCards(document: BoardDocument, ids: ReadonlySet<string>): BoardDocument {
  const lines = new Set([...ids].map(formatCardLine));
  return {
    ...document,
    text: document.text
      .split('\n')
      .filter((line) => !lines.has(line.trim()))
      .join('\n'),
    sections: document.sections.map((section) => ({
      ...section,
      cards: section.cards.filter(({ id }) => !ids.has(id)),
    })),
  };
}

/** Move a card before another one of a section; to its end if that is null. */
export function moveCard(
  document: BoardDocument,
  id: string,
  sectionId: string,
  before: string | null,
): BoardDocument {
  const card = findCard(document, id);
  if (!card || id === before) return document;
  return {
    ...document,
    sections: document.sections.map((section) => {
      const cards = section.cards.filter((other) => other.id !== id);
      if (section.id !== sectionId) return { ...section, cards };
      const at = cards.findIndex((other) => other.id === before);
      return { ...section, cards: cards.toSpliced(at < 0 ? cards.length : at, 0, card) };
    }),
  };
}

/** Insert a copy of a card after it. */
export function duplicateCard(document: BoardDocument, id: string): BoardDocument {
  return {
    ...document,
    sections: document.sections.map((section) => ({
      ...section,
      cards: section.cards.flatMap((card) =>
        card.id === id ? [card, { ...card, id: makeId() }] : [card],
      ),
    })),
  };
}

/** Set a setting of a card, or remove it, so that the setting of the document applies. */
export function setCardSetting(
  document: BoardDocument,
  id: string,
  name: string,
  text: string | undefined,
): BoardDocument {
  return changeCards(document, new Set([id]), (card) => ({
    ...card,
    settings: withSetting(card.settings, name, text),
  }));
}

/** Set a setting of all cards of a kind; cards that have it themselves follow it as well. */
export function setKindSetting(
  document: BoardDocument,
  kind: string,
  name: string,
  text: string | undefined,
): BoardDocument {
  const settings = withSetting(document.settings[kind] ?? {}, name, text);
  const changed = mapCards(document, (card) =>
    card.kind === kind && name in card.settings
      ? { ...card, settings: withSetting(card.settings, name, undefined) }
      : card,
  );
  return { ...changed, settings: { ...document.settings, [kind]: settings } };
}

function withSetting(settings: CardSettings, name: string, text: string | undefined): CardSettings {
  const others = Object.entries(settings).filter(([key]) => key !== name);
  return Object.fromEntries(text === undefined ? others : [...others, [name, text]]);
}

function mapCards(document: BoardDocument, change: (card: BoardCard) => BoardCard): BoardDocument {
  return {
    ...document,
    sections: document.sections.map((section) => {
      const cards = section.cards.map(change);
      const isSame = cards.every((card, at) => card === section.cards[at]);
      return isSame ? section : { ...section, cards };
    }),
  };
}

// ---- sections

export function createSection(title: string): BoardSection {
  return { id: makeId(), title, collapsed: false, cards: [] };
}

export function addSection(document: BoardDocument, title: string): BoardDocument {
  return { ...document, sections: [...document.sections, createSection(title)] };
}

export function changeSection(
  document: BoardDocument,
  id: string,
  change: Partial<Omit<BoardSection, 'id'>>,
): BoardDocument {
  return {
    ...document,
    sections: document.sections.map((section) =>
      section.id === id ? { ...section, ...change } : section,
    ),
  };
}

export function removeSection(document: BoardDocument, id: string): BoardDocument {
  return { ...document, sections: document.sections.filter((section) => section.id !== id) };
}

/** Move a section before another one; to the end if that is null. */
export function moveSection(
  document: BoardDocument,
  id: string,
  before: string | null,
): BoardDocument {
  const moved = document.sections.find((section) => section.id === id);
  if (!moved || id === before) return document;
  const others = document.sections.filter((section) => section.id !== id);
  const at = others.findIndex((section) => section.id === before);
  return { ...document, sections: others.toSpliced(at < 0 ? others.length : at, 0, moved) };
}

/** URL parameters of the page and of card grids, which mean nothing for a single card. */
const OTHER_PARAMS = new Set([
  'baseline',
  'card',
  'collapsed',
  'collapsed-groups',
  'color',
  'columns',
  'cursor',
  'filter',
  'group',
  'multi-tag',
  'order',
  'paused',
  'pinned',
  'range',
  'rt-compare',
  'rt-run',
  'runs',
  'runs-query',
  'runs-regex',
  'selected',
  'show-hidden',
  'sort',
  'step',
  'sync-steps',
  'tab',
  'tags',
  'tags-regex',
  'token',
  'tour',
  'wide',
  'workspace',
]);

/** Return the settings that a card has in its dashboard, from the URL of the page. */
export function readCardSettings(
  query: URLSearchParams,
  target: string,
): Readonly<Record<string, string>> {
  const settings = Object.fromEntries([...query].filter(([name]) => !OTHER_PARAMS.has(name)));
  // On a board, every card has its own step.
  const step = query.get('sync-steps') === '0' ? null : query.get('step');
  return step ? { ...settings, steps: list.format([target, step]) } : settings;
}

export type { DocumentListResponse, DocumentResponse, DocumentRow } from '../../api/schemas';

const CONFLICT_STATUS = 409;
const FORBIDDEN = 403;
const NOT_FOUND = 404;
const MAX_ATTEMPTS = 5;

const path = (name: string): string => `api/v1/workspaces/${name}`;

export const listDocuments = (): Promise<DocumentListResponse> => apiRequest(path('documents'));

export const getDocument = (id: string): Promise<DocumentResponse> =>
  apiRequest(path(`document?id=${encodeURIComponent(id)}`));

/** Rejects with a ServerError of status 409 if another revision than `expected` is stored. */
export function saveDocument(
  document: BoardDocument,
  expected: number,
  keepVersion = false,
): Promise<DocumentResponse> {
  const body = { document, expected, keep_version: keepVersion };
  return apiRequest(path('document'), { method: 'PUT', body });
}

export const deleteDocument = (id: string, expected: number): Promise<DocumentListResponse> =>
  apiRequest(path(`document?id=${encodeURIComponent(id)}&expected=${expected}`), {
    method: 'DELETE',
  });

export const setDefaultDocument = (id: string | null): Promise<DocumentListResponse> =>
  apiRequest(path('default'), { method: 'PUT', body: { id } });

export const listVersions = (id: string): Promise<VersionListResponse> =>
  apiRequest(path(`versions?id=${encodeURIComponent(id)}`));

export const getVersion = (id: string, revision: number): Promise<DocumentResponse> =>
  apiRequest(path(`version?id=${encodeURIComponent(id)}&revision=${revision}`));

/** Markdown as sanitized HTML. */
export const renderQuery = defineQuery('POST workspaces/render', { scope: 'immutable' });

export const isConflict = (error: unknown): boolean =>
  error instanceof ServerError && error.status === CONFLICT_STATUS;

/** The server is read-only, or the user is not one of its writers. */
export const isForbidden = (error: unknown): boolean =>
  error instanceof ServerError && error.status === FORBIDDEN;

export const isMissing = (error: unknown): boolean =>
  error instanceof ServerError && error.status === NOT_FOUND;

/** Change a stored document; if someone else changes it meanwhile, change that state. */
export async function updateDocument(
  id: string,
  change: (document: BoardDocument) => BoardDocument,
): Promise<DocumentResponse> {
  for (let attempt = 1; ; attempt++) {
    const { document, revision } = await getDocument(id);
    try {
      return await saveDocument(change(document), revision);
    } catch (error) {
      if (!isConflict(error) || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

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
