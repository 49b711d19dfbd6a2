import { formatBytes, formatCount } from '../../../base/format';
import type { Column } from '../table/columns';
import { formatShare } from '../words';

/** What the server says of a profile of memory: what is held, in columns. */
export interface HeapAnswer {
  /** Functions, files and lines of the user's program. */
  readonly wheres: readonly string[];
  /** All that was called, a line each, the innermost first. */
  readonly stacks: readonly string[];
  readonly kinds: readonly string[];
  readonly devices: readonly string[];
  readonly counts: Int32Array;
  readonly bytes: Float64Array;
  readonly total_bytes: number;
}

/** What one line of the program holds. */
export interface HeldRow {
  readonly where: string;
  readonly stack: string;
  readonly kind: string;
  readonly device: string;
  readonly count: number;
  readonly bytes: number;
  /** Bytes in the other profile; null where nothing is compared. */
  readonly before: number | null;
}

/** One row a line, kind and device; the stack of the largest stands for all of them. */
export function makeHeld(one: HeapAnswer, other: HeapAnswer | null): HeldRow[] {
  const now = gather(one);
  const before = other && gather(other);
  const gone = Array.from(before ?? []).filter(([key]) => !now.has(key));
  return [
    ...Array.from(now, ([key, row]) => ({
      ...row,
      before: before && (before.get(key)?.bytes ?? 0),
    })),
    ...gone.map(([, row]) => ({ ...row, bytes: 0, count: 0, before: row.bytes })),
  ];
}

function gather(answer: HeapAnswer): Map<string, HeldRow> {
  const rows = new Map<string, HeldRow>();
  answer.wheres.forEach((where, at) => {
    const [kind = '', device = ''] = [answer.kinds[at], answer.devices[at]];
    const key = [where, kind, device].join('\n');
    const known = rows.get(key);
    rows.set(key, {
      where: where || 'not said',
      stack: known?.stack ?? answer.stacks[at] ?? '',
      kind,
      device,
      count: (known?.count ?? 0) + (answer.counts[at] ?? 0),
      bytes: (known?.bytes ?? 0) + (answer.bytes[at] ?? 0),
      before: null,
    });
  });
  return rows;
}

export function heldColumns(
  rows: readonly HeldRow[],
  total: number,
  compares: boolean,
): Column<HeldRow>[] {
  const largest = rows.reduce((most, { bytes }) => Math.max(most, bytes), 0);
  return [
    {
      key: 'where',
      title: 'Held by',
      about: 'The line of the program that asked for it',
      width: 280,
      isText: true,
      value: ({ where }) => where,
    },
    {
      key: 'bytes',
      title: 'Bytes',
      width: 104,
      value: ({ bytes }) => bytes,
      text: ({ bytes }) => formatBytes(bytes),
      bar: ({ bytes }) => bytes / (largest || 1),
    },
    {
      key: 'share',
      title: 'Share',
      width: 76,
      value: ({ bytes }) => bytes / (total || 1),
      text: ({ bytes }) => formatShare(bytes / (total || 1)),
    },
    ...(compares ? [CHANGE] : []),
    {
      key: 'count',
      title: 'Pieces',
      width: 72,
      value: ({ count }) => count,
      text: ({ count }) => formatCount(count),
    },
    {
      key: 'kind',
      title: 'Kind',
      about: 'A buffer holds numbers, an executable a compiled program',
      width: 100,
      isText: true,
      value: ({ kind }) => kind,
      text: ({ kind }) => kind,
    },
    {
      key: 'device',
      title: 'Device',
      width: 110,
      isText: true,
      value: ({ device }) => device,
      text: ({ device }) => device,
    },
  ];
}

const CHANGE: Column<HeldRow> = {
  key: 'change',
  title: 'Change',
  width: 150,
  value: ({ bytes, before }) => (before === null ? null : bytes - before),
};
