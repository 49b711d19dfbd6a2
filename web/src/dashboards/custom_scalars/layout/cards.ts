import type { LayoutCategory, LayoutChart } from '../../../api/notes';
import { compileFilter, type Filter } from '../../../base/filter';
import { formatExact } from '../../../base/format';
import type { CurveCard } from '../../../curves/card';
import type { Section } from '../../../wall/card';
import type { Layout, Place } from './layout';
import { compilePattern } from './pattern';

/** A chart of a layout. */
export interface LayoutCard extends CurveCard {
  readonly place: Place;
  /** What is not right with it, in sentences. */
  readonly remarks: readonly string[];
}

/** How many tags one chart can show and still be read. */
const MOST_TAGS = 100;

/** What folding remembers a category by. */
export function keyOf({ title }: LayoutCategory): string {
  return ` layout ${title}`;
}

/** Pinned charts, then the categories with those of their charts that the filter finds. */
export function buildLayout(
  layout: Layout,
  tags: readonly string[],
  filter: Filter,
  pinned: readonly string[],
): Section<LayoutCard>[] {
  const { matches } = compileFilter(filter);
  const all = layout.map((category, at) => ({
    title: category.title || 'no title',
    key: keyOf(category),
    cards: cardsOf(category, at, tags),
  }));
  const cards = new Map(all.flatMap(({ cards }) => cards).map((card) => [card.id, card]));
  const isFound = ({ title, tags }: LayoutCard): boolean => matches(title) || tags.some(matches);
  return [
    { title: 'Pinned', key: ' pinned', cards: pinned.flatMap((id) => cards.get(id) ?? []) },
    ...all.map((section) => ({ ...section, cards: section.cards.filter(isFound) })),
  ].filter(({ cards }) => cards.length > 0);
}

function cardsOf(category: LayoutCategory, at: number, tags: readonly string[]): LayoutCard[] {
  const seen = new Map<string, number>();
  return category.charts.map((chart, index) => {
    const name = `${category.title}/${chart.title}`;
    const count = (seen.get(name) ?? 0) + 1;
    seen.set(name, count);
    const id = `chart:${name}${count > 1 ? `#${count}` : ''}`;
    return cardOf(chart, id, { category: at, chart: index }, tags);
  });
}

function cardOf(
  chart: LayoutChart,
  id: string,
  place: Place,
  known: readonly string[],
): LayoutCard {
  const content = chart.margins.length > 0 ? readMargins(chart, known) : readTags(chart, known);
  const title = chart.title || content.tags.join(' + ') || 'no title';
  return { id, title, right: [], description: '', place, ...content };
}

type Content = Pick<LayoutCard, 'tags' | 'margins' | 'remarks'>;

function readTags({ tags: texts }: LayoutChart, known: readonly string[]): Content {
  const patterns = texts.map(compilePattern);
  const found = known.filter((tag) => patterns.some(({ matches }) => matches(tag)));
  const remarks = patterns.flatMap(({ error }) => error ?? []);
  if (remarks.length === 0 && found.length === 0)
    remarks.push(`No tag of these runs matches ${texts.map((text) => `“${text}”`).join(' or ')}.`);
  if (found.length > MOST_TAGS)
    remarks.push(`Shows ${MOST_TAGS} of ${formatExact(found.length)} tags that match.`);
  return { tags: found.slice(0, MOST_TAGS), margins: [], remarks };
}

function readMargins({ margins }: LayoutChart, known: readonly string[]): Content {
  const there = new Set(known);
  const wanted = margins.flatMap(({ value, lower, upper }) => [value, lower, upper]);
  const missing = [...new Set(wanted.filter((tag) => !there.has(tag)))];
  const whole = margins.filter((margin) => Object.values(margin).every((tag) => there.has(tag)));
  const tags = [...new Set(whole.flatMap(({ value, lower, upper }) => [value, lower, upper]))];
  const remarks =
    missing.length > 0 ? [`No band without ${missing.map((tag) => `“${tag}”`).join(', ')}.`] : [];
  return { tags, margins: whole, remarks };
}
