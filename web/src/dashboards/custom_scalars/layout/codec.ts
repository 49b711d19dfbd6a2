import type { LayoutCategory, LayoutChart } from '../../../api/notes';
import { type Codec, json } from '../../../base/codec';
import type { Layout } from './layout';

/** Without names of fields, as an address is to be short. */
type ShortChart = readonly [title: string, tags: string[], margins: [string, string, string][]];
type ShortCategory = readonly [title: string, closed: 0 | 1, charts: ShortChart[]];
type Short = readonly ShortCategory[];

const short = json<Short | null>(
  (value): value is Short => Array.isArray(value) && value.every(isCategory),
  null,
);

/** A layout as it stands in a link; null where there is none, or a damaged one. */
export const layoutCodec: Codec<Layout | null> = {
  parse: (text) => short.parse(text)?.map(readCategory) ?? null,
  format: (layout) => short.format(layout?.map(writeCategory) ?? null),
};

function readCategory([title, closed, charts]: ShortCategory): LayoutCategory {
  return { title, closed: closed === 1, charts: charts.map(readChart) };
}

function readChart([title, tags, margins]: ShortChart): LayoutChart {
  return {
    title,
    tags,
    margins: margins.map(([value, lower, upper]) => ({ value, lower, upper })),
  };
}

function writeCategory({ title, closed, charts }: LayoutCategory): ShortCategory {
  return [title, closed ? 1 : 0, charts.map(writeChart)];
}

function writeChart({ title, tags, margins }: LayoutChart): ShortChart {
  return [title, [...tags], margins.map(({ value, lower, upper }) => [value, lower, upper])];
}

function isCategory(value: unknown): boolean {
  return isTriple(value) && isText(value[0]) && isList(value[2], isChart);
}

function isChart(value: unknown): boolean {
  return (
    isTriple(value) && isText(value[0]) && isList(value[1], isText) && isList(value[2], isBand)
  );
}

function isBand(value: unknown): boolean {
  return isTriple(value) && value.every(isText);
}

function isTriple(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) && value.length === 3;
}

function isList(value: unknown, isItem: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isItem);
}

function isText(value: unknown): boolean {
  return typeof value === 'string';
}
