import { describe, expect, it, test } from 'vitest';

import {
  clampListTop,
  getItemOffsets,
  getScrollHeight,
  getScrollTop,
  getVisibleItems,
  getVisibleRows,
  ItemHeights,
  MAX_SCROLL_HEIGHT_PX,
  toListTop,
  toScrollTop,
} from './virtual-list';
import { nextSortOrder, sortOrderCodec, sortRows, type TableColumn } from './data-table';
import { findOptions, groupOptions, moveIndex, type OptionGroup, Typeahead } from './options';

describe('data table', () => {
  interface Row {
    readonly name: string;
    readonly ms: number;
  }

  const NAME: TableColumn<Row> = {
    key: 'name',
    title: 'Op',
    width: 100,
    isText: true,
    value: (r) => r.name,
  };
  const MS: TableColumn<Row> = { key: 'ms', title: 'Time', width: 80, value: (r) => r.ms };
  const ROWS: Row[] = [
    { name: 'conv10', ms: 2 },
    { name: 'conv9', ms: NaN },
    { name: 'add', ms: 5 },
  ];

  const sortNames = (text: string): string[] =>
    sortRows(ROWS, [NAME, MS], sortOrderCodec.parse(text)).map(({ name }) => name);

  describe('table sorting', () => {
    it('sorts by any column, with unknown values last', () => {
      expect(sortNames('-ms')).toEqual(['add', 'conv10', 'conv9']);
      expect(sortNames('ms')).toEqual(['conv10', 'add', 'conv9']);
      expect(sortNames('name')).toEqual(['add', 'conv9', 'conv10']);
    });

    it('keeps the order if a link names an unknown column', () => {
      expect(sortNames('-gone')).toEqual(['conv10', 'conv9', 'add']);
    });

    it('keeps the order without a sort order or a sort key', () => {
      expect(sortRows(ROWS, [NAME, MS], null)).toBe(ROWS);
      const order = sortOrderCodec.parse('-side');
      expect(sortRows(ROWS, [{ key: 'side', title: 'Side', width: 60 }], order)).toBe(ROWS);
    });

    it('starts with the highest number or the first word', () => {
      expect(nextSortOrder({ key: 'name', descending: false }, MS)).toEqual({
        key: 'ms',
        descending: true,
      });
      expect(nextSortOrder({ key: 'ms', descending: true }, MS)).toEqual({
        key: 'ms',
        descending: false,
      });
      expect(nextSortOrder({ key: 'ms', descending: true }, NAME)).toEqual({
        key: 'name',
        descending: false,
      });
    });

    it('is encoded in the URL', () => {
      expect(sortOrderCodec.format({ key: 'ms', descending: true })).toBe('-ms');
      expect(sortOrderCodec.parse('name')).toEqual({ key: 'name', descending: false });
    });
  });
});

describe('list navigation', () => {
  test('arrow keys wrap around, page keys stop at the ends', () => {
    expect(moveIndex('ArrowDown', 2, 3)).toBe(0);
    expect(moveIndex('ArrowUp', 0, 3)).toBe(2);
    expect(moveIndex('ArrowDown', -1, 3)).toBe(0);
    expect(moveIndex('ArrowUp', -1, 3)).toBe(2);
    expect(moveIndex('PageDown', 1, 30)).toBe(11);
    expect(moveIndex('PageDown', 25, 30)).toBe(29);
    expect(moveIndex('PageUp', 5, 30)).toBe(0);
    expect([moveIndex('Home', 5, 30), moveIndex('End', 5, 30)]).toEqual([0, 29]);
  });

  test('other keys and empty lists do not navigate', () => {
    expect(moveIndex('a', 0, 3)).toBeNull();
    expect(moveIndex('ArrowDown', -1, 0)).toBeNull();
  });

  const LABELS = ['Download CSV', 'Download JSON', 'Log scale', 'Lock range'];

  test('letters find the label that starts with them', () => {
    const typeahead = new Typeahead();
    expect(typeahead.find('l', LABELS, 0, 0)).toBe(2);
    expect(typeahead.find('o', LABELS, 2, 100)).toBe(2);
    expect(typeahead.find('c', LABELS, 2, 200)).toBe(3);
    expect(typeahead.find('x', LABELS, 3, 300)).toBeNull();
  });

  test('a repeated letter cycles, a pause resets the text', () => {
    const typeahead = new Typeahead();
    expect(typeahead.find('d', LABELS, 0, 0)).toBe(1);
    expect(typeahead.find('d', LABELS, 1, 100)).toBe(0);
    expect(typeahead.find('l', LABELS, 0, 2000)).toBe(2);
  });

  test('a space or a named key alone is not typed text', () => {
    const typeahead = new Typeahead();
    expect(typeahead.find(' ', LABELS, 0, 0)).toBeNull();
    expect(typeahead.find('Enter', LABELS, 0, 0)).toBeNull();
  });
});

describe('options', () => {
  const GROUPS: OptionGroup[] = [
    { title: 'Colors', options: ['red', 'dark red', 'blue'].map((key) => ({ key, label: key })) },
    { title: 'Sizes', options: [{ key: 'l', label: 'Large' }] },
  ];

  const findLabels = (text: string, limit = 9): string =>
    findOptions(GROUPS, text, limit)
      .groups.map(({ title, options }) => `${title}: ${options.map(({ label }) => label)}`)
      .join('; ');

  test('options match words in any order, and empty groups are left out', () => {
    expect(findLabels('')).toBe('Colors: red,dark red,blue; Sizes: Large');
    expect(findLabels('RED dark')).toBe('Colors: dark red');
    expect(findLabels('la')).toBe('Sizes: Large');
    expect(findLabels('none')).toBe('');
  });

  test('options beyond the limit are counted', () => {
    expect(findLabels('', 2)).toBe('Colors: red,dark red');
    expect(findOptions(GROUPS, '', 2).left).toBe(2);
  });

  test('items are grouped by title in their order', () => {
    const groups = groupOptions(
      ['b/1', 'a/1', 'b/2'],
      (item) => item[0] ?? '',
      (item) => ({ key: item, label: item }),
    );
    expect(groups.map(({ title, options }) => [title, options.map(({ key }) => key)])).toEqual([
      ['b', ['b/1', 'b/2']],
      ['a', ['a/1']],
    ]);
  });
});

describe('virtual list', () => {
  const KEYS = ['a', 'b', 'c', 'd'];

  test('unknown heights are estimated from known ones', () => {
    const heights = new ItemHeights();
    expect(heights.get('a', 50)).toBe(50);
    expect(heights.set('a', 100)).toBe(true);
    expect(heights.set('b', 200)).toBe(true);
    expect(heights.set('b', 200)).toBe(false);
    expect([heights.get('a', 50), heights.get('c', 50)]).toEqual([100, 150]);
  });

  test('offsets add up heights', () => {
    const heights = new ItemHeights();
    heights.set('a', 100);
    expect([...getItemOffsets(KEYS, heights, 50)]).toEqual([0, 100, 200, 300, 400]);
  });

  test('visible items are those between two positions', () => {
    const offsets = Float64Array.of(0, 100, 200, 300, 400);
    expect(getVisibleItems(offsets, 0, 150)).toEqual({ first: 0, end: 2 });
    expect(getVisibleItems(offsets, 150, 250)).toEqual({ first: 1, end: 3 });
    expect(getVisibleItems(offsets, 1000, 1100)).toEqual({ first: 4, end: 4 });
    expect(getVisibleItems(Float64Array.of(0), 0, 100)).toEqual({ first: 0, end: 0 });
  });

  test('only rows near the viewport are rendered', () => {
    expect(getVisibleRows(0, 280, 28, 10_000, 5)).toEqual({ first: 0, end: 15 });
    expect(getVisibleRows(2800, 280, 28, 10_000, 5)).toEqual({ first: 95, end: 115 });
    expect(getVisibleRows(280_000 - 280, 280, 28, 10_000, 5)).toEqual({ first: 9985, end: 10_000 });
  });

  test('a list that shrank below the scroll position has a valid range', () => {
    expect(getVisibleRows(5000, 280, 28, 3, 5)).toEqual({ first: 3, end: 3 });
  });

  test('a visible row does not scroll', () => {
    expect(getScrollTop(3, 28, 0, 280)).toBe(0);
    expect(getScrollTop(10, 28, 0, 280)).toBe(28);
    expect(getScrollTop(3, 28, 280, 280)).toBe(84);
  });
});

describe('scaled scrolling', () => {
  const short = { listHeight: 26_000, viewHeight: 400 };
  const tall = { listHeight: 5_000_000 * 26, viewHeight: 400 };

  it('does not scale lists that fit', () => {
    expect(getScrollHeight(short)).toBe(26_000);
    expect(toListTop(short, 1234)).toBe(1234);
    expect(toScrollTop(short, 1234)).toBe(1234);
  });

  it('reaches both ends of a tall list', () => {
    expect(getScrollHeight(tall)).toBe(MAX_SCROLL_HEIGHT_PX);
    expect(toListTop(tall, 0)).toBe(0);
    expect(toListTop(tall, MAX_SCROLL_HEIGHT_PX - 400)).toBe(tall.listHeight - 400);
  });

  it('converts back and forth', () => {
    expect(toListTop(tall, toScrollTop(tall, 77_777_777))).toBeCloseTo(77_777_777, 3);
  });

  it('stays within the list', () => {
    expect(clampListTop(tall, -5)).toBe(0);
    expect(clampListTop({ listHeight: 100, viewHeight: 400 }, 50)).toBe(0);
  });
});
