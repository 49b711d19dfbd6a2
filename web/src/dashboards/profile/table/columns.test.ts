import { describe, expect, it } from 'vitest';

import { type Column, nextOrder, orderCodec, sortRows } from './columns';

interface Row {
  readonly name: string;
  readonly ms: number;
}

const NAME: Column<Row> = {
  key: 'name',
  title: 'Op',
  width: 100,
  isText: true,
  value: (r) => r.name,
};
const MS: Column<Row> = { key: 'ms', title: 'Time', width: 80, value: (r) => r.ms };
const ROWS: Row[] = [
  { name: 'conv10', ms: 2 },
  { name: 'conv9', ms: NaN },
  { name: 'add', ms: 5 },
];

const namesBy = (text: string): string[] =>
  sortRows(ROWS, [NAME, MS], orderCodec.parse(text)).map(({ name }) => name);

describe('a table', () => {
  it('is sorted by any column, with what is not known last', () => {
    expect(namesBy('-ms')).toEqual(['add', 'conv10', 'conv9']);
    expect(namesBy('ms')).toEqual(['conv10', 'add', 'conv9']);
    expect(namesBy('name')).toEqual(['add', 'conv9', 'conv10']);
  });

  it('stays as it is where a link names a column that is not there', () => {
    expect(namesBy('-gone')).toEqual(['conv10', 'conv9', 'add']);
  });

  it('begins with the highest number and with the first word', () => {
    expect(nextOrder({ key: 'name', descending: false }, MS)).toEqual({
      key: 'ms',
      descending: true,
    });
    expect(nextOrder({ key: 'ms', descending: true }, MS)).toEqual({
      key: 'ms',
      descending: false,
    });
    expect(nextOrder({ key: 'ms', descending: true }, NAME)).toEqual({
      key: 'name',
      descending: false,
    });
  });

  it('is written into the address', () => {
    expect(orderCodec.format({ key: 'ms', descending: true })).toBe('-ms');
    expect(orderCodec.parse('name')).toEqual({ key: 'name', descending: false });
  });
});
