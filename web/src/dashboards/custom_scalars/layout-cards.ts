import type { LayoutCategory, LayoutChart } from '../../api/client';
import type { Section } from '../../cards/card-sections';
import { toggleItem } from '../../cards/grid-settings';
import { formatInteger } from '../../lib/format';
import { compileTextFilter, type TextFilter } from '../../lib/text-filter';
import type { Param } from '../../plugin/context';
import type { ScalarCard } from '../../scalar-cards/scalar-card';
import type { ChartLayout, ChartLocation } from './chart-layout';

/** A chart of a layout. */
export interface LayoutChartCardModel extends ScalarCard {
  readonly location: ChartLocation;
  /** What is not right with it, in sentences. */
  readonly warnings: readonly string[];
}

/** How many tags one chart can show and still be read. */
const MAX_CHART_TAGS = 100;

/** What folding remembers a category by. */
export function makeCategoryKey({ title }: LayoutCategory): string {
  return ` layout ${title}`;
}

/** Pinned charts, then the categories with those of their charts that the filter finds. */
export function buildLayoutSections(
  layout: ChartLayout,
  tags: readonly string[],
  filter: TextFilter,
  pinned: readonly string[],
): Section<LayoutChartCardModel>[] {
  const { matches } = compileTextFilter(filter);
  const all = layout.map((category, at) => ({
    title: category.title || 'no title',
    key: makeCategoryKey(category),
    cards: makeCategoryCards(category, at, tags),
  }));
  const cards = new Map(all.flatMap(({ cards }) => cards).map((card) => [card.id, card]));
  const isFound = ({ title, tags }: LayoutChartCardModel): boolean =>
    matches(title) || tags.some(matches);
  return [
    { title: 'Pinned', key: ' pinned', cards: pinned.flatMap((id) => cards.get(id) ?? []) },
    ...all.map((section) => ({ ...section, cards: section.cards.filter(isFound) })),
  ].filter(({ cards }) => cards.length > 0);
}

function makeCategoryCards(
  category: LayoutCategory,
  at: number,
  tags: readonly string[],
): LayoutChartCardModel[] {
  const seen = new Map<string, number>();
  return category.charts.map((chart, index) => {
    const name = `${category.title}/${chart.title}`;
    const count = (seen.get(name) ?? 0) + 1;
    seen.set(name, count);
    const id = `chart:${name}${count > 1 ? `#${count}` : ''}`;
    return makeChartCard(chart, id, { category: at, chart: index }, tags);
  });
}

function makeChartCard(
  chart: LayoutChart,
  id: string,
  place: ChartLocation,
  known: readonly string[],
): LayoutChartCardModel {
  const content =
    chart.margins.length > 0 ? resolveMargins(chart, known) : resolveTags(chart, known);
  const title = chart.title || content.tags.join(' + ') || 'no title';
  return { id, title, right: [], description: '', location: place, ...content };
}

type ChartContent = Pick<LayoutChartCardModel, 'tags' | 'margins' | 'warnings'>;

function resolveTags({ tags: texts }: LayoutChart, known: readonly string[]): ChartContent {
  const patterns = texts.map(compileTagPattern);
  const found = known.filter((tag) => patterns.some(({ matches }) => matches(tag)));
  const remarks = patterns.flatMap(({ error }) => error ?? []);
  if (remarks.length === 0 && found.length === 0)
    remarks.push(`No tag of these runs matches ${texts.map((text) => `“${text}”`).join(' or ')}.`);
  if (found.length > MAX_CHART_TAGS)
    remarks.push(`Shows ${MAX_CHART_TAGS} of ${formatInteger(found.length)} tags that match.`);
  return { tags: found.slice(0, MAX_CHART_TAGS), margins: [], warnings: remarks };
}

function resolveMargins({ margins }: LayoutChart, known: readonly string[]): ChartContent {
  const there = new Set(known);
  const wanted = margins.flatMap(({ value, lower, upper }) => [value, lower, upper]);
  const missing = [...new Set(wanted.filter((tag) => !there.has(tag)))];
  const whole = margins.filter((margin) => Object.values(margin).every((tag) => there.has(tag)));
  const tags = [...new Set(whole.flatMap(({ value, lower, upper }) => [value, lower, upper]))];
  const remarks =
    missing.length > 0 ? [`No band without ${missing.map((tag) => `“${tag}”`).join(', ')}.`] : [];
  return { tags, margins: whole, warnings: remarks };
}

/** A regular expression of a layout, which Python would match at the beginning of a tag. */
export interface TagPattern {
  readonly matches: (tag: string) => boolean;
  /** Why it matches nothing, in a sentence. */
  readonly error: string | null;
}

/** What Python writes in another way than JavaScript. */
const PYTHON_REGEX_TRANSLATIONS: readonly (readonly [RegExp, string])[] = [
  [/\(\?P</g, '(?<'],
  [/\(\?P=(\w+)\)/g, '\\k<$1>'],
  [/\\A/g, '^'],
  [/\\Z/g, '$'],
];
const PYTHON_REGEX_FLAGS = /^\(\?([aimsux]+)\)/;
/** Something repeated that is itself repeated: such an expression may not come to an end. */
const NESTED_QUANTIFIER = /\((?:[^()\\]|\\.)*[+*](?:[^()\\]|\\.)*\)(?:[+*]|\{\d+,\})/;
const MAX_PATTERN_LENGTH = 1000;

export function compileTagPattern(text: string): TagPattern {
  if (text.length > MAX_PATTERN_LENGTH) return makeInvalidPattern(text, 'It is too long.');
  if (NESTED_QUANTIFIER.test(text))
    return makeInvalidPattern(text, 'It could take forever: it repeats a repetition.');
  const flags = PYTHON_REGEX_FLAGS.exec(text)?.[1] ?? '';
  const plain = PYTHON_REGEX_TRANSLATIONS.reduce(
    (translated, [from, to]) => translated.replace(from, to),
    text.replace(PYTHON_REGEX_FLAGS, ''),
  );
  try {
    const expression = new RegExp(`^(?:${plain})`, flags.replace(/[^ims]/g, ''));
    return { matches: (tag) => expression.test(tag), error: null };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return makeInvalidPattern(text, `${reason.replace(/^.*\/[a-z]*: /s, '')}.`);
  }
}

function makeInvalidPattern(text: string, reason: string): TagPattern {
  const shown = text.length > 60 ? `${text.slice(0, 60)} …` : text;
  return { matches: () => false, error: `“${shown}” is no expression for tags. ${reason}` };
}

/** The expression for one tag and no other. */
export function makeExactPattern(tag: string): string {
  return `${tag.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}$`;
}

/** Which sections are folded, where some are unless the address says otherwise. */
export class CollapsedSections implements Param<readonly string[]> {
  readonly #toggled: Param<readonly string[]>;
  #getDefaults: () => readonly string[] = () => [];

  /** `changed` names those that are not as they were. */
  constructor(changed: Param<readonly string[]>) {
    this.#toggled = changed;
  }

  /** Says which sections are folded at first. */
  setDefaults(closed: () => readonly string[]): void {
    this.#getDefaults = closed;
  }

  get value(): readonly string[] {
    return symmetricDifference(this.#getDefaults(), this.#toggled.value);
  }

  set(folded: readonly string[], how?: 'push' | 'replace'): void {
    this.#toggled.set(symmetricDifference(this.#getDefaults(), folded), how);
  }
}

/** What is in one of two lists only. */
export function symmetricDifference(
  one: readonly string[],
  other: readonly string[],
): readonly string[] {
  return other.reduce(toggleItem, one);
}
