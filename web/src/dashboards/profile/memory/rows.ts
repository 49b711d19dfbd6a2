import { formatBytes } from '../../../base/format';
import type { Column } from '../table/columns';
import { formatShare } from '../words';
import type { AllocatorRow, Pieces } from './answers';

/** Memory that was taken alike. */
export interface PieceRow {
  readonly op: string;
  readonly bytes: number;
  readonly requested: number;
  readonly count: number;
  readonly region: string;
  readonly type: string;
  readonly shape: string;
  readonly event: number;
  /** Of what was lost, in how many steps. */
  readonly steps: number;
  readonly isLost: boolean;
  /** Bytes in the other capture; null where nothing is compared. */
  readonly before: number | null;
}

const UNNAMED: Readonly<Record<string, string>> = {
  before: 'in use since before the capture: weights and what else is kept',
  stack: 'stack',
};

/** What was in use at the peak; what the other capture had as well stands beside it. */
export function makeRows(one: AllocatorRow, other: AllocatorRow | null): PieceRow[] {
  const lost = new Set(readPieces(one.leaks).map(keyOf));
  const before = other && sumByKey(readPieces(other.pieces));
  return readPieces(one.pieces).map((row) => ({
    ...row,
    isLost: lost.has(keyOf(row)),
    before: before && (before.get(keyOf(row)) ?? 0),
  }));
}

export function readPieces(pieces: Pieces): PieceRow[] {
  return pieces.ops.map((op, at) => ({
    op: op || (UNNAMED[pieces.regions[at] ?? ''] ?? 'not said'),
    bytes: pieces.bytes[at] ?? 0,
    requested: pieces.requested[at] ?? 0,
    count: pieces.counts[at] ?? 0,
    region: pieces.regions[at] ?? '',
    type: pieces.types[at] ?? '',
    shape: pieces.shapes[at] ?? '',
    event: pieces.events[at] ?? -1,
    steps: pieces.steps[at] ?? 0,
    isLost: false,
    before: null,
  }));
}

function keyOf({ op, shape, bytes, count }: PieceRow): string {
  // Ops that say no shape are told apart by how much each took.
  return [op, shape || bytes / (count || 1)].join('\n');
}

function sumByKey(rows: readonly PieceRow[]): Map<string, number> {
  const sums = new Map<string, number>();
  for (const row of rows) sums.set(keyOf(row), (sums.get(keyOf(row)) ?? 0) + row.bytes);
  return sums;
}

/** How much more was in use after each step than after the one before, on average. */
export function growthOf({ step_heaps: heaps }: AllocatorRow): number {
  const [first = 0, last = 0] = [heaps[0], heaps.at(-1)];
  return heaps.length > 1 ? (last - first) / (heaps.length - 1) : 0;
}

export function pieceColumns(
  rows: readonly PieceRow[],
  total: number,
  compares: boolean,
): Column<PieceRow>[] {
  const largest = rows.reduce((most, { bytes }) => Math.max(most, bytes), 0);
  return [
    { key: 'op', title: 'Op', width: 240, isText: true, value: ({ op }) => op },
    {
      ...bytes('bytes', 'Allocated', (row) => row.bytes),
      bar: (row) => row.bytes / (largest || 1),
      colour: ({ isLost, region }) =>
        isLost ? 'var(--bad)' : region === 'before' ? 'var(--line-strong)' : 'var(--accent)',
    },
    {
      key: 'share',
      title: 'Share',
      about: 'Of all that was in use at the peak',
      width: 72,
      value: (row) => row.bytes / (total || 1),
      text: (row) => formatShare(row.bytes / (total || 1)),
    },
    ...(compares ? COMPARED : []),
    bytes('requested', 'Requested', ({ requested }) => requested),
    {
      key: 'count',
      title: 'Times',
      about: 'How many of the same were in use at once',
      width: 66,
      value: ({ count }) => count,
      text: ({ count }) => String(count),
    },
    ...TEXTS.filter(({ value }) => rows.some((row) => value(row) !== '')),
  ];
}

/** PyTorch says none of these, and columns with nothing in them are in the way. */
const TEXTS: readonly Column<PieceRow>[] = [
  text('region', 'Kind', 92, ({ region }) => region),
  text('type', 'Type', 84, ({ type }) => type),
  text('shape', 'Shape', 150, ({ shape }) => shape),
];

const COMPARED: readonly Column<PieceRow>[] = [
  bytes('before', 'Before', ({ before }) => before ?? NaN),
  {
    key: 'change',
    title: 'Change',
    width: 150,
    value: ({ bytes, before }) => (before === null ? null : bytes - before),
  },
];

function bytes(key: string, title: string, value: (row: PieceRow) => number): Column<PieceRow> {
  const text = (row: PieceRow): string => (Number.isNaN(value(row)) ? '' : formatBytes(value(row)));
  return { key, title, width: 100, value, text };
}

function text(
  key: string,
  title: string,
  width: number,
  of: (row: PieceRow) => string,
): Column<PieceRow> {
  return { key, title, width, isText: true, value: of, text: of };
}
