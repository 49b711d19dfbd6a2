import { expect, test } from 'vitest';

import type { LayoutChart } from '../../api/client';
import { NO_FILTER } from '../../lib/text-filter';
import {
  buildLayoutSections,
  CollapsedSections,
  compileTagPattern,
  makeExactPattern,
} from './layout-cards';

const TAGS = ['acc', 'high', 'loss', 'loss_val', 'low'];
const lines = (title: string, ...tags: string[]): LayoutChart => ({ title, tags, margins: [] });
const margin = { value: 'loss', lower: 'low', upper: 'high' };

const build = (...charts: LayoutChart[]) =>
  buildLayoutSections([{ title: 'Quality', closed: false, charts }], TAGS, NO_FILTER, []);
const only = (chart: LayoutChart) => build(chart)[0]?.cards[0];

test('a chart shows the tags that any of its expressions matches', () => {
  expect(only(lines('Loss', 'loss', 'acc$'))).toMatchObject({
    id: 'chart:Quality/Loss',
    tags: ['acc', 'loss', 'loss_val'],
    warnings: [],
  });
});

test('what is wrong is said, and the rest is shown', () => {
  const card = only(lines('Loss', 'acc', 'loss('));
  expect(card?.tags).toEqual(['acc']);
  expect(card?.warnings[0]).toContain('“loss(” is no expression');
  expect(only(lines('Gone', 'zzz'))?.warnings).toEqual(['No tag of these runs matches “zzz”.']);
});

test('bands need all three tags', () => {
  expect(only({ title: 'Spread', tags: [], margins: [margin] })).toMatchObject({
    tags: ['loss', 'low', 'high'],
    margins: [margin],
    warnings: [],
  });
  const broken = { ...margin, upper: 'top' };
  expect(only({ title: 'Spread', tags: [], margins: [broken] })).toMatchObject({
    tags: [],
    warnings: ['No band without “top”.'],
  });
});

test('charts of the same title are told apart', () => {
  const ids = build(lines('Loss', 'loss'), lines('Loss', 'acc'))[0]?.cards.map(({ id }) => id);
  expect(ids).toEqual(['chart:Quality/Loss', 'chart:Quality/Loss#2']);
});

test('the filter finds charts by title and by tag, and pinned ones stay', () => {
  const layout = [{ title: 'q', closed: false, charts: [lines('A', 'loss'), lines('B', 'acc')] }];
  const found = buildLayoutSections(layout, TAGS, { text: 'acc', regex: false }, ['chart:q/A']);
  expect(found.map(({ title, cards }) => [title, ...cards.map((card) => card.title)])).toEqual([
    ['Pinned', 'A'],
    ['q', 'B'],
  ]);
});

const found = (pattern: string, ...tags: string[]): string[] =>
  tags.filter(compileTagPattern(pattern).matches);

test('an expression is matched at the beginning of a tag, as Python does', () => {
  expect(found('loss', 'loss', 'loss/train', 'val_loss')).toEqual(['loss', 'loss/train']);
  expect(found('a|b', 'a1', 'b1', 'cb')).toEqual(['a1', 'b1']);
});

test('what Python writes otherwise is understood', () => {
  expect(found('(?i)LOSS\\Z', 'loss', 'losses')).toEqual(['loss']);
  expect(found('(?P<head>\\w)/(?P=head)$', 'a/a', 'a/b')).toEqual(['a/a']);
});

test('what is wrong with an expression is said, and it matches nothing', () => {
  const { error, matches } = compileTagPattern('loss(');
  expect(error).toBe('“loss(” is no expression for tags. Unterminated group.');
  expect(matches('loss(')).toBe(false);
});

test('an expression that could take forever is not tried', () => {
  expect(compileTagPattern('(a+)+$').error).toContain('forever');
  expect(compileTagPattern('(a|b)+x*').error).toBeNull();
});

test('one tag is matched and no other', () => {
  const tag = 'loss (train).[1]';
  expect(found(makeExactPattern(tag), tag, `${tag}2`, 'loss train')).toEqual([tag]);
});

function keep() {
  const kept = {
    value: [] as readonly string[],
    set: (to: readonly string[]) => void (kept.value = to),
  };
  return kept;
}

test('what is closed at first can be opened, and what is open closed', () => {
  const kept = keep();
  const folding = new CollapsedSections(kept);
  folding.setDefaults(() => ['b']);
  expect(folding.value).toEqual(['b']);
  folding.set([]);
  expect([folding.value, kept.value]).toEqual([[], ['b']]);
  folding.set(['a', 'b']);
  expect([folding.value, kept.value]).toEqual([['b', 'a'], ['a']]);
});
