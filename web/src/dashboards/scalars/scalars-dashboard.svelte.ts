import { createContext } from 'svelte';

import type { TagRow } from '../../api/schemas';
import type { CardGridInfo } from '../../cards/card-grid.svelte';
import { buildSections } from '../../cards/card-sections';
import * as m from '../../catalog/scalars';
import { list } from '../../lib/codecs';
import { compileTextFilter } from '../../lib/text-filter';
import type { Context, Param } from '../../plugin/context';
import type { ScalarCard } from '../../scalar-cards/chart-lines';
import { ScalarGridState } from '../../scalar-cards/scalar-grid.svelte';

/** A card of one tag, or of several that the user combined. */
export interface ScalarsCardModel extends ScalarCard {
  /** The definition of a combined card, as in the URL; null for the card of one tag. */
  readonly definition: string | null;
}

const INFO: CardGridInfo = {
  name: 'scalars',
  title: m.title,
  emptyTitle: m.emptyTitle,
  emptyHint: m.emptyHint,
};

/** A card per tag, and combined cards. */
export class ScalarsDashboard extends ScalarGridState<ScalarsCardModel> {
  readonly #definitions: Param<readonly string[]>;

  readonly #combined = $derived.by(() => {
    const tags = this.visibleRows.map(({ tag }) => tag);
    return this.#definitions.value.map((definition) => parseCombinedCard(definition, tags));
  });
  readonly sections = $derived.by(() =>
    buildSections(this.visibleRows, makeTagCard, {
      filter: this.settings.filter.value,
      pinned: this.settings.pinned.value,
      extra: [{ title: m.sectionCombined, key: ' combined', cards: this.#combined }],
    }),
  );

  constructor(context: Context) {
    super(context, INFO);
    this.#definitions = context.url.param('multi-tag', list, []);
  }

  /** Add a combined card, or replace another one by it. */
  addCombined(definition: string, replaced: string | null): void {
    const others = this.#definitions.value.filter((other) => other !== definition);
    const index = replaced === null ? -1 : others.indexOf(replaced);
    const changed = index < 0 ? [...others, definition] : others.with(index, definition);
    this.#definitions.set(changed, 'push');
  }

  removeCombined(definition: string): void {
    const others = this.#definitions.value.filter((other) => other !== definition);
    this.#definitions.set(others, 'push');
  }
}

export const [getScalars, setScalars] = createContext<ScalarsDashboard>();

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

/*
 * The definition of a combined card is a list of tags, `>` before those on the right axis, or one
 * `/regular expression/` for all tags that match it, now and later.
 */

export const COMBINED_ID_PREFIX = 'multi:';
const RIGHT_AXIS_MARKER = '>';
const REGEX_DEFINITION = /^\/(.*)\/$/s;
const MAX_COMBINED_TAGS = 24;

export function parseCombinedCard(definition: string, tags: readonly string[]): ScalarsCardModel {
  const parts = list.parse(definition);
  const regex = parts.length === 1 ? REGEX_DEFINITION.exec(parts[0] ?? '')?.[1] : undefined;
  const combined = regex === undefined ? parts.map(stripAxisMarker) : findMatching(regex, tags);
  return {
    id: COMBINED_ID_PREFIX + definition,
    title: regex === undefined ? combined.join(' + ') : `/${regex}/`,
    tags: combined,
    right: parts.filter((part) => part.startsWith(RIGHT_AXIS_MARKER)).map(stripAxisMarker),
    margins: [],
    description: '',
    definition,
  };
}

export function formatRegexCard(pattern: string): string {
  return list.format([`/${pattern}/`]);
}

/** Return the definition of a card with the tags of both cards. */
export function combineCards(one: ScalarsCardModel, other: ScalarsCardModel): string {
  const right = new Set([...one.right, ...other.right]);
  return formatDefinition([...new Set([...one.tags, ...other.tags])], right);
}

/** Return the definition of a card without one of its tags. */
export function withoutTag({ tags, right }: ScalarsCardModel, tag: string): string {
  const others = tags.filter((other) => other !== tag);
  return formatDefinition(others, new Set(right));
}

/** Return the definition of a card with one of its tags on the other axis. */
export function toggleRightAxis(card: ScalarsCardModel, tag: string): string {
  const right = new Set(card.right);
  if (!right.delete(tag)) right.add(tag);
  return formatDefinition(card.tags, right);
}

function formatDefinition(tags: readonly string[], right: ReadonlySet<string>): string {
  return list.format(tags.map((tag) => (right.has(tag) ? RIGHT_AXIS_MARKER + tag : tag)));
}

function stripAxisMarker(part: string): string {
  return part.startsWith(RIGHT_AXIS_MARKER) ? part.slice(RIGHT_AXIS_MARKER.length) : part;
}

function findMatching(pattern: string, tags: readonly string[]): string[] {
  const { matches, error } = compileTextFilter({ text: pattern, regex: true });
  return error ? [] : tags.filter(matches).slice(0, MAX_COMBINED_TAGS);
}
