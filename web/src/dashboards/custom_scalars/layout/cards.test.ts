import { expect, test } from 'vitest';

import type { LayoutChart } from '../../../api/notes';
import { NO_FILTER } from '../../../base/filter';
import { buildLayout } from './cards';

const TAGS = ['acc', 'high', 'loss', 'loss_val', 'low'];
const lines = (title: string, ...tags: string[]): LayoutChart => ({ title, tags, margins: [] });
const margin = { value: 'loss', lower: 'low', upper: 'high' };

const build = (...charts: LayoutChart[]) =>
  buildLayout([{ title: 'Quality', closed: false, charts }], TAGS, NO_FILTER, []);
const only = (chart: LayoutChart) => build(chart)[0]?.cards[0];

test('a chart shows the tags that any of its expressions matches', () => {
  expect(only(lines('Loss', 'loss', 'acc$'))).toMatchObject({
    id: 'chart:Quality/Loss',
    tags: ['acc', 'loss', 'loss_val'],
    remarks: [],
  });
});

test('what is wrong is said, and the rest is shown', () => {
  const card = only(lines('Loss', 'acc', 'loss('));
  expect(card?.tags).toEqual(['acc']);
  expect(card?.remarks[0]).toContain('“loss(” is no expression');
  expect(only(lines('Gone', 'zzz'))?.remarks).toEqual(['No tag of these runs matches “zzz”.']);
});

test('bands need all three tags', () => {
  expect(only({ title: 'Spread', tags: [], margins: [margin] })).toMatchObject({
    tags: ['loss', 'low', 'high'],
    margins: [margin],
    remarks: [],
  });
  const broken = { ...margin, upper: 'top' };
  expect(only({ title: 'Spread', tags: [], margins: [broken] })).toMatchObject({
    tags: [],
    remarks: ['No band without “top”.'],
  });
});

test('charts of the same title are told apart', () => {
  const ids = build(lines('Loss', 'loss'), lines('Loss', 'acc'))[0]?.cards.map(({ id }) => id);
  expect(ids).toEqual(['chart:Quality/Loss', 'chart:Quality/Loss#2']);
});

test('the filter finds charts by title and by tag, and pinned ones stay', () => {
  const layout = [{ title: 'q', closed: false, charts: [lines('A', 'loss'), lines('B', 'acc')] }];
  const found = buildLayout(layout, TAGS, { text: 'acc', regex: false }, ['chart:q/A']);
  expect(found.map(({ title, cards }) => [title, ...cards.map((card) => card.title)])).toEqual([
    ['Pinned', 'A'],
    ['q', 'B'],
  ]);
});
