import type { TagRow } from '../../../api/types';
import { compileFilter } from '../../../base/filter';
import { groupByPrefix } from '../../../base/section';
import type { ShownRun } from '../../../plugin/context';
import { type Card, type Section, tagCardOf } from '../../../wall/card';
import type { WallSettings } from '../../../wall/settings';

/** Curves in one chart: one tag of all runs, or all tags of a section of one run. */
export interface PrCard extends Card {
  readonly tags: readonly string[];
  /** The first of them: keys go through its steps. */
  readonly tag: string;
  /** null: every run that is shown. */
  readonly run: string | null;
}

export function cardOf(row: TagRow): PrCard {
  const { id, title, description, tag } = tagCardOf(row);
  return { id, title, description, tags: [tag], tag, run: null };
}

/** Who has which tag, as far as that is known. */
export type HasTag = (run: string, tag: string) => boolean;

/** Of each section a card for each run, with the tags of the section in it. */
export function buildClassSections(
  rows: readonly TagRow[],
  runs: readonly ShownRun[],
  hasTag: HasTag,
  { filter, pinned }: WallSettings,
): Section<PrCard>[] {
  const { matches } = compileFilter(filter.value);
  const found = rows.filter(({ tag, display_name }) => matches(tag) || matches(display_name));
  const sections = groupByPrefix(found).map(({ title, items }) => ({
    title: title || 'no prefix',
    key: title,
    cards: runs.flatMap((run) => classCard(title, items, run, hasTag)),
  }));
  const all = sections.flatMap(({ cards }) => cards);
  const cards = pinned.value.flatMap((id) => all.find((card) => card.id === id) ?? []);
  return [{ title: 'Pinned', key: ' pinned', cards }, ...sections].filter(
    ({ cards }) => cards.length > 0,
  );
}

function classCard(
  prefix: string,
  rows: readonly TagRow[],
  { name, label }: ShownRun,
  hasTag: HasTag,
): PrCard[] {
  const tags = rows.map(({ tag }) => tag).filter((tag) => hasTag(name, tag));
  const [tag] = tags;
  if (tag === undefined) return [];
  return [{ id: `${prefix}\n${name}`, title: label, description: '', tags, tag, run: name }];
}

/** What tells a tag from the others of its section. */
export function classOf(tag: string): string {
  return tag.slice(tag.indexOf('/') + 1);
}
