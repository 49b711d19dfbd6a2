import { describe, expect, it } from 'vitest';

import type { QueryResult } from '../../../api/schemas';
import { toCsv } from '../../../cards/export';
import {
  formatCell,
  listPlaces,
  makeLocator,
  makeSqlColumns,
  makeSqlExport,
  makeSqlRows,
} from './sql-result';

const result: QueryResult = {
  columns: [
    { name: 'event', type: 'number', values: [7, 7, null] },
    { name: 'name', type: 'text', values: ['a, "b"', 'c', null] },
    { name: 'start_ms', type: 'number', values: [1, 2.5, 3] },
    { name: 'big', type: 'number', values: ['9007199254740993', 1, 2] },
    { name: 'event', type: 'bool', values: [true, false, null] },
  ],
  has_more: false,
};

describe('results of queries', () => {
  const rows = makeSqlRows(result);

  it('are rows of cells', () => {
    expect(rows.map(({ cells }) => cells[2])).toEqual([1, 2.5, 3]);
    expect(makeSqlRows({ columns: [], has_more: false })).toEqual([]);
  });

  it('link to the event, or else to the time', () => {
    const locate = makeLocator(result);
    expect(rows.map((row) => locate?.(row))).toEqual([
      { event: 7 },
      { event: 7 },
      { span: [2999, 3001] },
    ]);
    expect(makeLocator({ columns: result.columns.slice(1, 2), has_more: false })).toBeNull();
  });

  it('have places in the trace, each once', () => {
    expect(listPlaces(result)).toEqual([
      { event: 7, start: 2.5e9, end: 2.5e9 },
      { event: null, start: 3e9, end: 3e9 },
    ]);
    const steps = {
      columns: [
        { name: 'start_ms', type: 'number' as const, values: [1, 2, null] },
        { name: 'duration_ms', type: 'number' as const, values: [0.5, null, 1] },
      ],
      has_more: false,
    };
    expect(listPlaces(steps)).toEqual([
      { event: null, start: 1e9, end: 1.5e9 },
      { event: null, start: 2e9, end: 2e9 },
    ]);
    expect(listPlaces({ columns: result.columns.slice(1, 2), has_more: false })).toEqual([]);
  });

  it('have columns of any name', () => {
    const columns = makeSqlColumns(result, rows, true);
    expect(columns.map(({ key }) => key)).toEqual(['0', '1', '2', '3', '4']);
    expect(columns.map(({ text }) => text !== undefined)).toEqual([false, true, true, true, true]);
    expect(columns.every(({ width }) => width >= 72 && width <= 420)).toBe(true);
  });

  it('are exported in full', () => {
    expect(toCsv(makeSqlExport(result, rows)).split('\n')[1]).toBe(
      '7,"a, ""b""",1,9007199254740993,true',
    );
  });

  it('show numbers with their digits', () => {
    expect([1234567, 0.12345678, null, 'x', true].map(formatCell)).toEqual([
      '1,234,567',
      '0.123457',
      '',
      'x',
      'true',
    ]);
  });
});
