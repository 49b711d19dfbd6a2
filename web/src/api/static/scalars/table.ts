import type { TableFormat } from '../../scalars';
import type { Curve } from './curve';
import { spell } from './points';
import type { Key } from './series';

/** Which columns the points of a file have; the server's files have the same. */
export interface TableAsk {
  readonly format: TableFormat;
  readonly x: string;
  readonly smoothing: unknown;
}

type Member = readonly [Key, Curve];
type Columns = readonly (readonly [string, Float64Array])[];

const LINES_AT_ONCE = 10_000;

/** The points of some curves as a file; null for a format that a browser cannot write. */
export function writeTable(ask: TableAsk, members: readonly Member[]): Blob | null {
  switch (ask.format) {
    case 'csv':
      return new Blob([...iterCsv(ask, members)], { type: 'text/csv' });
    case 'json':
      return new Blob([writeJson(ask, members)], { type: 'application/json' });
    default:
      return null;
  }
}

function columnsOf({ x, smoothing }: TableAsk, curve: Curve): Columns {
  return [
    ['step', curve.step],
    ['wall_time', curve.wall],
    ...(x === 'step' ? [] : [['x', curve.x] as const]),
    ['value', curve.value],
    ...(smoothing === null ? [] : [['smoothed', curve.smooth] as const]),
  ];
}

/** In pieces, as one text of a million lines would be made anew with every line. */
function* iterCsv(ask: TableAsk, members: readonly Member[]): Generator<string> {
  for (const [place, [key, curve]] of members.entries()) {
    const columns = columnsOf(ask, curve);
    const names = columns.map(([name]) => name);
    if (place === 0) yield `${['run', 'tag', ...names].join(',')}\n`;
    const who = `${quote(key.run)},${quote(key.tag)}`;
    for (let from = 0; from < curve.x.length; from += LINES_AT_ONCE) {
      const cells = columns.map(([, column]) => column.subarray(from, from + LINES_AT_ONCE));
      const lines = Array.from(cells[0] ?? [], (_, row) =>
        [who, ...cells.map((column) => writeNumber(column[row]))].join(','),
      );
      yield `${lines.join('\n')}\n`;
    }
  }
}

function writeJson(ask: TableAsk, members: readonly Member[]): string {
  const series = members.map(([{ run, tag }, curve]) => ({
    run,
    tag,
    ...Object.fromEntries(
      columnsOf(ask, curve).map(([name, column]) => [name, Array.from(column, spell)]),
    ),
  }));
  return JSON.stringify(series);
}

function quote(name: string): string {
  return /[",\r\n]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name;
}

function writeNumber(value = NaN): string {
  if (Number.isFinite(value)) return String(value);
  return String(value).toLowerCase().replace('infinity', 'inf');
}
