import { expect, test } from 'vitest';

import type { TagRow } from '../../api/schemas';
import type { VisibleRun } from '../../plugin/context';
import type { CardGridSettings } from '../../cards/grid-settings';
import { buildClassSections, getClassName } from './pr-curve-cards';

function row(tag: string): TagRow {
  const about = { plugin: 'pr_curves', kind: 'tensor', display_name: '', description: '' };
  return { tag, ...about, runs: 1, count: 1, overwritten: 0, first: null, last: null };
}

function run(name: string): VisibleRun {
  return { name, label: name.toUpperCase(), color: '#000', dash: [], group: null };
}

function settings(words: string, pinned: readonly string[] = []): CardGridSettings {
  const filter = { value: { text: words, isRegex: false } };
  return { filter, pinned: { value: pinned } } as unknown as CardGridSettings;
}

const rows = ['pr/cat', 'pr/dog', 'val/cat'].map(row);
const runs = ['a', 'b'].map(run);
const build = (of: CardGridSettings) =>
  buildClassSections(rows, runs, (name, tag) => name === 'a' || tag !== 'val/cat', of);

test('of each section a run has one card, with the tags that it has', () => {
  const sections = build(settings(''));
  expect(sections.map(({ title, cards }) => [title, cards.map((card) => card.title)])).toEqual([
    ['pr', ['A', 'B']],
    ['val', ['A']],
  ]);
  expect(sections[0]?.cards[1]).toMatchObject({ tags: ['pr/cat', 'pr/dog'], run: 'b' });
});

test('filters are for tags, and cards can be pinned', () => {
  const [first, second] = build(settings('dog', ['pr\nb']));
  expect(first).toMatchObject({ title: 'Pinned', cards: [{ run: 'b' }] });
  expect(second?.cards.map(({ tags }) => tags)).toEqual([['pr/dog'], ['pr/dog']]);
});

test('a class is what follows the prefix', () => {
  expect(['pr/cat', 'pr/a/b', 'plain'].map(getClassName)).toEqual(['cat', 'a/b', 'plain']);
});
