import { describe, expect, it } from 'vitest';

import { type TableColumn, nextSortOrder, sortOrderCodec, sortRows } from './data-table';

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
