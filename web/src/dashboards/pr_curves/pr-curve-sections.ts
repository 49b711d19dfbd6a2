/** The cards of the dashboard and their height. */
import type { TagRow } from '../../api/schemas';
import { type Card, createTagCard, type Section } from '../../cards/card-sections';
import type { CardGridSettings } from '../../cards/card-grid.svelte';
import { groupByPrefix } from '../../lib/grouping';
import { compileTextFilter } from '../../lib/text-filter';
import type { VisibleRun } from '../../plugin/context';
import * as common from '../../catalog/common';

/** A card shows one tag of all visible runs, or all tags of a section of one run. */
export interface PrCurveCardModel extends Card {
  readonly tags: readonly string[];
  /** The first tag; shortcuts select its steps. */
  readonly tag: string;
  /** null is all visible runs. */
  readonly run: string | null;
}

export function makeTagCard(row: TagRow): PrCurveCardModel {
  const { id, title, description, tag } = createTagCard(row);
  return { id, title, description, tags: [tag], tag, run: null };
}

/** Returns whether a run is known to have a tag. */
export type HasTag = (run: string, tag: string) => boolean;

/** Return sections with one card per run. */
export function buildClassSections(
  rows: readonly TagRow[],
  runs: readonly VisibleRun[],
  hasTag: HasTag,
  { filter, pinned }: CardGridSettings,
): Section<PrCurveCardModel>[] {
  const { matches } = compileTextFilter(filter.value);
  const found = rows.filter(({ tag, display_name }) => matches(tag) || matches(display_name));
  const sections = groupByPrefix(found).map(({ title, items }) => ({
    title: title || common.ungrouped,
    key: title,
    cards: runs.flatMap((run) => makeClassCards(title, items, run, hasTag)),
  }));
  const all = sections.flatMap(({ cards }) => cards);
  const cards = pinned.value.flatMap((id) => all.find((card) => card.id === id) ?? []);
  return [{ title: common.pinned, key: ' pinned', cards }, ...sections].filter(
    ({ cards }) => cards.length > 0,
  );
}

function makeClassCards(
  prefix: string,
  rows: readonly TagRow[],
  { name, label }: VisibleRun,
  hasTag: HasTag,
): PrCurveCardModel[] {
  const tags = rows.map(({ tag }) => tag).filter((tag) => hasTag(name, tag));
  const [tag] = tags;
  if (tag === undefined) return [];
  return [{ id: `${prefix}\n${name}`, title: label, description: '', tags, tag, run: name }];
}

/** Return the part of a tag after the prefix of its section. */
export function getClassName(tag: string): string {
  return tag.slice(tag.indexOf('/') + 1);
}

const CARD_HEADER_HEIGHT_PX = 34;
const LEGEND_ROW_HEIGHT_PX = 19;
/** Further rows are scrolled to. */
const MAX_LEGEND_ROWS = 4;
const SLIDER_HEIGHT_PX = 34;
const WIDE_CHART_HEIGHT_PX = 420;
export const LEGEND_HEIGHT_PX = MAX_LEGEND_ROWS * LEGEND_ROW_HEIGHT_PX;
export const HISTORY_HEIGHT_PX = 92;
export const TABLE_HEIGHT_PX = 132;

/** Both axes range from 0 to 1, so that charts are nearly square. */
const CHART_ASPECT_RATIO = 0.74;

export interface CardParts {
  readonly isWide: boolean;
  readonly hasTable: boolean;
  readonly hasHistory: boolean;
  readonly hasSlider: boolean;
  /** Maximum number of curves. */
  readonly curves: number;
}

export function computeCardHeight(width: number, parts: CardParts): number {
  const chart = parts.isWide ? WIDE_CHART_HEIGHT_PX : Math.round(width * CHART_ASPECT_RATIO);
  const rows = Math.min(MAX_LEGEND_ROWS, Math.max(1, parts.curves));
  return (
    CARD_HEADER_HEIGHT_PX +
    rows * LEGEND_ROW_HEIGHT_PX +
    chart +
    (parts.hasSlider ? SLIDER_HEIGHT_PX : 0) +
    (parts.hasHistory ? HISTORY_HEIGHT_PX : 0) +
    (parts.hasTable ? TABLE_HEIGHT_PX : 0)
  );
}
