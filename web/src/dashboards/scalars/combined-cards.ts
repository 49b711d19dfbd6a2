import type { TagRow } from '../../api/schemas';
import { list } from '../../lib/codecs';
import { compileTextFilter } from '../../lib/text-filter';
import type { ScalarCard } from '../../scalar-cards/scalar-card';

/** A card of one tag, or of several that somebody put together. */
export interface ScalarsCardModel extends ScalarCard {
  /** How the card is written in the address; null for the card of one tag. */
  readonly definition: string | null;
}

/** A card that stands for one tag. */
export function makeTagCard(row: TagRow): ScalarsCardModel {
  return {
    id: row.tag,
    title: row.display_name || row.tag,
    tags: [row.tag],
    right: [],
    margins: [],
    description: row.description,
    definition: null,
  };
}

/**
 * Cards of several tags. Each is written as a list: tags, those for the right axis after a `>`, or
 * one `/expression/` that stands for all tags that it matches, now and later.
 */

const COMBINED_ID_PREFIX = 'multi:';
const RIGHT_AXIS_MARKER = '>';
const REGEX_DEFINITION = /^\/(.*)\/$/s;
/** How many tags a card can show and still be read. */
export const MAX_COMBINED_TAGS = 24;

export function makeCombinedId(recipe: string): string {
  return COMBINED_ID_PREFIX + recipe;
}

export function parseCombinedCard(recipe: string, known: readonly string[]): ScalarsCardModel {
  const parts = list.parse(recipe);
  const regex = parts.length === 1 ? REGEX_DEFINITION.exec(parts[0] ?? '')?.[1] : undefined;
  const tags = regex === undefined ? parts.map(stripAxisMarker) : listMatchingTags(regex, known);
  const right = parts.filter((part) => part.startsWith(RIGHT_AXIS_MARKER)).map(stripAxisMarker);
  const title = regex === undefined ? makeCombinedTitle(tags) : `/${regex}/`;
  return {
    id: makeCombinedId(recipe),
    title,
    tags,
    right,
    margins: [],
    description: '',
    definition: recipe,
  };
}

export function formatRegexCard(pattern: string): string {
  return list.format([`/${pattern}/`]);
}

/** The recipe for the tags of two cards in one. */
export function combineCards(one: ScalarsCardModel, other: ScalarsCardModel): string {
  const right = new Set([...one.right, ...other.right]);
  return formatCombinedCard([...new Set([...one.tags, ...other.tags])], right);
}

export function withoutTag(card: ScalarsCardModel, tag: string): string {
  const tags = card.tags.filter((other) => other !== tag);
  return formatCombinedCard(tags, new Set(card.right));
}

/** The same card with a tag on the other axis. */
export function toggleRightAxis(card: ScalarsCardModel, tag: string): string {
  const right = new Set(card.right);
  if (!right.delete(tag)) right.add(tag);
  return formatCombinedCard(card.tags, right);
}

function formatCombinedCard(tags: readonly string[], right: ReadonlySet<string>): string {
  return list.format(tags.map((tag) => (right.has(tag) ? RIGHT_AXIS_MARKER + tag : tag)));
}

function stripAxisMarker(part: string): string {
  return part.startsWith(RIGHT_AXIS_MARKER) ? part.slice(RIGHT_AXIS_MARKER.length) : part;
}

function listMatchingTags(text: string, known: readonly string[]): string[] {
  const { matches, error } = compileTextFilter({ text, regex: true });
  return error ? [] : known.filter(matches).slice(0, MAX_COMBINED_TAGS);
}

function makeCombinedTitle(tags: readonly string[]): string {
  return tags.join(' + ');
}
