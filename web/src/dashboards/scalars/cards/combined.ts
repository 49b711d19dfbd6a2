import { list } from '../../../base/codec';
import { compileFilter } from '../../../base/filter';
import type { ScalarCard } from './card';

/**
 * Cards of several tags. Each is written as a list: tags, those for the right axis after a `>`, or
 * one `/expression/` that stands for all tags that it matches, now and later.
 */

const PREFIX = 'multi:';
const RIGHT = '>';
const REGEX = /^\/(.*)\/$/s;
/** How many tags a card can show and still be read. */
export const MOST_TAGS = 24;

export function combinedId(recipe: string): string {
  return PREFIX + recipe;
}

export function readCombined(recipe: string, known: readonly string[]): ScalarCard {
  const parts = list.parse(recipe);
  const regex = parts.length === 1 ? REGEX.exec(parts[0] ?? '')?.[1] : undefined;
  const tags = regex === undefined ? parts.map(nameOf) : matching(regex, known);
  const right = parts.filter((part) => part.startsWith(RIGHT)).map(nameOf);
  const title = regex === undefined ? titleOf(tags) : `/${regex}/`;
  return { id: combinedId(recipe), title, tags, right, margins: [], description: '', recipe };
}

export function regexRecipe(pattern: string): string {
  return list.format([`/${pattern}/`]);
}

/** The recipe for the tags of two cards in one. */
export function combine(one: ScalarCard, other: ScalarCard): string {
  const right = new Set([...one.right, ...other.right]);
  return recipeOf([...new Set([...one.tags, ...other.tags])], right);
}

export function withoutTag(card: ScalarCard, tag: string): string {
  const tags = card.tags.filter((other) => other !== tag);
  return recipeOf(tags, new Set(card.right));
}

/** The same card with a tag on the other axis. */
export function switchAxis(card: ScalarCard, tag: string): string {
  const right = new Set(card.right);
  if (!right.delete(tag)) right.add(tag);
  return recipeOf(card.tags, right);
}

function recipeOf(tags: readonly string[], right: ReadonlySet<string>): string {
  return list.format(tags.map((tag) => (right.has(tag) ? RIGHT + tag : tag)));
}

function nameOf(part: string): string {
  return part.startsWith(RIGHT) ? part.slice(RIGHT.length) : part;
}

function matching(text: string, known: readonly string[]): string[] {
  const { matches, error } = compileFilter({ text, regex: true });
  return error ? [] : known.filter(matches).slice(0, MOST_TAGS);
}

function titleOf(tags: readonly string[]): string {
  return tags.join(' + ');
}
