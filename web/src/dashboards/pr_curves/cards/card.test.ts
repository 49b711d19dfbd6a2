import { expect, test } from 'vitest';

import type { TagRow } from '../../../api/types';
import type { ShownRun } from '../../../plugin/context';
import type { WallSettings } from '../../../wall/settings';
import { buildClassSections, classOf } from './card';

function row(tag: string): TagRow {
  const about = { plugin: 'pr_curves', kind: 'tensor', display_name: '', description: '' };
  return { tag, ...about, runs: 1, count: 1, overwritten: 0, first: null, last: null };
}

function run(name: string): ShownRun {
  return { name, label: name.toUpperCase(), colour: '#000', dash: [], group: null };
}

function settings(words: string, pinned: readonly string[] = []): WallSettings {
  const filter = { value: { text: words, isRegex: false } };
  return { filter, pinned: { value: pinned } } as unknown as WallSettings;
}

const rows = ['pr/cat', 'pr/dog', 'val/cat'].map(row);
const runs = ['a', 'b'].map(run);
const build = (of: WallSettings) =>
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
  expect(['pr/cat', 'pr/a/b', 'plain'].map(classOf)).toEqual(['cat', 'a/b', 'plain']);
});
