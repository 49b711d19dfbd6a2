import { describe, expect, test } from 'vitest';

import { NO_COLUMNS } from '../plugin/context';
import { isKeyOfTable } from './page-actions';
import { columnTitle } from './runs/run-cells';
import { FuzzyIndex } from './page-search.svelte';
import { splitTabs } from './top-bar/DashboardTabs.svelte';
import { listSteps } from './Tour.svelte';

describe('tab overflow', () => {
  const WIDTHS = [100, 80, 60, 120];
  const MORE = 50;

  test('all tabs are shown where they fit', () => {
    expect(splitTabs(WIDTHS, 0, 360, MORE)).toEqual({ shown: [0, 1, 2, 3], overflow: [] });
  });

  test('a More button that is always shown needs space too', () => {
    expect(splitTabs(WIDTHS, 0, 409, MORE, true)).toEqual({ shown: [0, 1, 2], overflow: [3] });
    expect(splitTabs(WIDTHS, 0, 410, MORE, true)).toEqual({ shown: [0, 1, 2, 3], overflow: [] });
  });

  test('the last tabs overflow first', () => {
    expect(splitTabs(WIDTHS, 0, 359, MORE)).toEqual({ shown: [0, 1, 2], overflow: [3] });
    expect(splitTabs(WIDTHS, 0, 230, MORE)).toEqual({ shown: [0, 1], overflow: [2, 3] });
  });

  test('no later tab is shown past one that does not fit', () => {
    expect(splitTabs([100, 80, 200, 20], 0, 260, MORE)).toEqual({
      shown: [0, 1],
      overflow: [2, 3],
    });
  });

  test('the active tab is always shown', () => {
    expect(splitTabs(WIDTHS, 3, 270, MORE)).toEqual({ shown: [0, 3], overflow: [1, 2] });
    expect(splitTabs(WIDTHS, 3, 10, MORE)).toEqual({ shown: [3], overflow: [0, 1, 2] });
  });

  test('without an active tab nothing is reserved for it', () => {
    expect(splitTabs(WIDTHS, -1, 230, MORE)).toEqual({ shown: [0, 1], overflow: [2, 3] });
    expect(splitTabs([], -1, 0, MORE)).toEqual({ shown: [], overflow: [] });
  });
});

describe('run cells', () => {
  const AVAILABLE = {
    ...NO_COLUMNS,
    display_names: { 'hparam:lr': 'Learning rate', 'min:val/acc': 'Accuracy' },
  };

  test.each([
    ['hparam:lr', 'Learning rate', 'lr'],
    ['min:val/acc', 'min Accuracy', 'val/acc'],
    ['last:loss', 'loss', 'loss'],
  ])('the title of %s has the display name, its tooltip the name', (key, text, name) => {
    const title = columnTitle(key, AVAILABLE);
    expect(title.text).toBe(text);
    expect(title.title).toContain(name);
  });
});

describe('keys of the run table', () => {
  const makeElement = (role: string) => ({ getAttribute: () => role }) as unknown as Element;
  const table = makeElement('treegrid');
  const isHandled = (target: Element): boolean =>
    isKeyOfTable({ target, currentTarget: table } as unknown as Event);

  test('are those of the table and of a row that was clicked', () => {
    expect(isHandled(table)).toBe(true);
    expect(isHandled(makeElement('row'))).toBe(true);
  });

  test('are not those of controls in a row', () => {
    expect(isHandled(makeElement('button'))).toBe(false);
  });
});

describe('tour steps', () => {
  test('leaves out dashboards without data', () => {
    const all = listSteps(['scalars', 'runs', 'hparams', 'graphs', 'what_if']);
    const few = listSteps(['scalars']);
    expect(all.map(({ tab }) => tab)).toContain('graphs');
    expect(new Set(few.map(({ tab }) => tab))).toEqual(new Set(['scalars', null]));
    expect(few.length).toBeGreaterThan(3);
  });

  test('ends with a step that can be shown on any board', () => {
    expect(listSteps([]).at(-1)?.tab).toBeNull();
  });
});

describe('search of the command palette', () => {
  const find = (names: string[], query: string): string[] =>
    new FuzzyIndex(names, (name) => name).search(query, 10).map(({ item }) => item);

  test('whole words rank before prefixes, substrings and initials', () => {
    const names = ['gloss', 'long_oss', 'losses', 'train/loss'];
    expect(find(names, 'loss')).toEqual(['train/loss', 'losses', 'gloss', 'long_oss']);
  });

  test('all words have to occur, in any order and case', () => {
    expect(find(['conv/lr1e-3', 'conv/lr3e-4', 'vit/lr1e-3'], '1E-3 conv')).toEqual([
      'conv/lr1e-3',
    ]);
  });

  test('of two similar names the shorter one comes first', () => {
    expect(find(['loss/of/the/second/head', 'loss'], 'loss')[0]).toBe('loss');
  });

  test('initials of parts match, arbitrary letters do not', () => {
    expect(find(['validation/accuracy'], 'vacc')).toHaveLength(1);
    expect(find(['aa/ab'], 'aab')).toHaveLength(1);
    expect(find(['validation/accuracy'], 'vcy')).toHaveLength(0);
    expect(find(['Copy the link to this view'], 'los')).toHaveLength(0);
  });

  test('an empty query matches everything', () => {
    expect(find(['a', 'b'], ' ')).toHaveLength(2);
  });
});
