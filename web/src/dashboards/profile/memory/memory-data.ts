import type { Annotation, Line, PointMarker } from '../../../charts/types';
import type { TableColumn } from '../../../components/data-table';
import { RUN_COLORS } from '../../../lib/colors';
import { formatBytes, formatCount } from '../../../lib/format';
import { formatPercent } from '../display';
import type { AllocationColumns, AllocatorRow } from '../schemas';

/** Memory that was taken alike. */
export interface AllocationRow {
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
  readonly isLeaked: boolean;
  /** Bytes in the other capture; null where nothing is compared. */
  readonly baseline: number | null;
}

const UNNAMED_REGIONS: Readonly<Record<string, string>> = {
  before: 'in use since before the capture: weights and what else is kept',
  stack: 'stack',
};

/** What was in use at the peak; what the other capture had as well stands beside it. */
export function makeAllocationRows(one: AllocatorRow, other: AllocatorRow | null): AllocationRow[] {
  const lost = new Set(readAllocations(one.leaks).map(getAllocationKey));
  const before = other && sumByKey(readAllocations(other.pieces));
  return readAllocations(one.pieces).map((row) => ({
    ...row,
    isLeaked: lost.has(getAllocationKey(row)),
    baseline: before && (before.get(getAllocationKey(row)) ?? 0),
  }));
}

export function readAllocations(pieces: AllocationColumns): AllocationRow[] {
  return pieces.ops.map((op, at) => ({
    op: op || (UNNAMED_REGIONS[pieces.regions[at] ?? ''] ?? 'not said'),
    bytes: pieces.bytes[at] ?? 0,
    requested: pieces.requested[at] ?? 0,
    count: pieces.counts[at] ?? 0,
    region: pieces.regions[at] ?? '',
    type: pieces.types[at] ?? '',
    shape: pieces.shapes[at] ?? '',
    event: pieces.events[at] ?? -1,
    steps: pieces.steps[at] ?? 0,
    isLeaked: false,
    baseline: null,
  }));
}

function getAllocationKey({ op, shape, bytes, count }: AllocationRow): string {
  // Ops that say no shape are told apart by how much each took.
  return [op, shape || bytes / (count || 1)].join('\n');
}

function sumByKey(rows: readonly AllocationRow[]): Map<string, number> {
  const sums = new Map<string, number>();
  for (const row of rows)
    sums.set(getAllocationKey(row), (sums.get(getAllocationKey(row)) ?? 0) + row.bytes);
  return sums;
}

/** How much more was in use after each step than after the one before, on average. */
export function getGrowthPerStep({ step_heaps: heaps }: AllocatorRow): number {
  const [first = 0, last = 0] = [heaps[0], heaps.at(-1)];
  return heaps.length > 1 ? (last - first) / (heaps.length - 1) : 0;
}

export function makeAllocationColumns(
  rows: readonly AllocationRow[],
  total: number,
  compares: boolean,
): TableColumn<AllocationRow>[] {
  const largest = rows.reduce((most, { bytes }) => Math.max(most, bytes), 0);
  return [
    { key: 'op', title: 'Op', width: 240, isText: true, value: ({ op }) => op },
    {
      ...makeBytesColumn('bytes', 'Allocated', (row) => row.bytes),
      bar: (row) => row.bytes / (largest || 1),
      barColor: ({ isLeaked, region }) =>
        isLeaked ? 'var(--bad)' : region === 'before' ? 'var(--line-strong)' : 'var(--accent)',
    },
    {
      key: 'share',
      title: 'Share',
      description: 'Of all that was in use at the peak',
      width: 72,
      value: (row) => row.bytes / (total || 1),
      text: (row) => formatPercent(row.bytes / (total || 1)),
    },
    ...(compares ? BASELINE_COLUMNS : []),
    makeBytesColumn('requested', 'Requested', ({ requested }) => requested),
    {
      key: 'count',
      title: 'Times',
      description: 'How many of the same were in use at once',
      width: 66,
      value: ({ count }) => count,
      text: ({ count }) => String(count),
    },
    ...TEXT_COLUMNS.filter(({ value }) => rows.some((row) => value(row) !== '')),
  ];
}

/** PyTorch says none of these, and columns with nothing in them are in the way. */
const TEXT_COLUMNS: readonly TableColumn<AllocationRow>[] = [
  makeTextColumn('region', 'Kind', 92, ({ region }) => region),
  makeTextColumn('type', 'Type', 84, ({ type }) => type),
  makeTextColumn('shape', 'Shape', 150, ({ shape }) => shape),
];

const BASELINE_COLUMNS: readonly TableColumn<AllocationRow>[] = [
  makeBytesColumn('before', 'Before', ({ baseline }) => baseline ?? NaN),
  {
    key: 'change',
    title: 'Change',
    width: 150,
    value: ({ bytes, baseline }) => (baseline === null ? null : bytes - baseline),
  },
];

function makeBytesColumn(
  key: string,
  title: string,
  value: (row: AllocationRow) => number,
): TableColumn<AllocationRow> {
  const text = (row: AllocationRow): string =>
    Number.isNaN(value(row)) ? '' : formatBytes(value(row));
  return { key, title, width: 100, value, text };
}

function makeTextColumn(
  key: string,
  title: string,
  width: number,
  of: (row: AllocationRow) => string,
): TableColumn<AllocationRow> {
  return { key, title, width, isText: true, value: of, text: of };
}

/** What the server says of a profile of memory: what is held, in columns. */
export interface HeapResponse {
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
export interface HeapRow {
  readonly location: string;
  readonly stack: string;
  readonly kind: string;
  readonly device: string;
  readonly count: number;
  readonly bytes: number;
  /** Bytes in the other profile; null where nothing is compared. */
  readonly baseline: number | null;
}

/** One row a line, kind and device; the stack of the largest stands for all of them. */
export function makeHeapRows(one: HeapResponse, other: HeapResponse | null): HeapRow[] {
  const now = groupHeap(one);
  const before = other && groupHeap(other);
  const gone = Array.from(before ?? []).filter(([key]) => !now.has(key));
  return [
    ...Array.from(now, ([key, row]) => ({
      ...row,
      baseline: before && (before.get(key)?.bytes ?? 0),
    })),
    ...gone.map(([, row]) => ({ ...row, bytes: 0, count: 0, baseline: row.bytes })),
  ];
}

function groupHeap(answer: HeapResponse): Map<string, HeapRow> {
  const rows = new Map<string, HeapRow>();
  answer.wheres.forEach((where, at) => {
    const [kind = '', device = ''] = [answer.kinds[at], answer.devices[at]];
    const key = [where, kind, device].join('\n');
    const known = rows.get(key);
    rows.set(key, {
      location: where || 'not said',
      stack: known?.stack ?? answer.stacks[at] ?? '',
      kind,
      device,
      count: (known?.count ?? 0) + (answer.counts[at] ?? 0),
      bytes: (known?.bytes ?? 0) + (answer.bytes[at] ?? 0),
      baseline: null,
    });
  });
  return rows;
}

export function makeHeapColumns(
  rows: readonly HeapRow[],
  total: number,
  compares: boolean,
): TableColumn<HeapRow>[] {
  const largest = rows.reduce((most, { bytes }) => Math.max(most, bytes), 0);
  return [
    {
      key: 'where',
      title: 'Held by',
      description: 'The line of the program that asked for it',
      width: 280,
      isText: true,
      value: ({ location }) => location,
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
      text: ({ bytes }) => formatPercent(bytes / (total || 1)),
    },
    ...(compares ? [HEAP_CHANGE_COLUMN] : []),
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
      description: 'A buffer holds numbers, an executable a compiled program',
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

const HEAP_CHANGE_COLUMN: TableColumn<HeapRow> = {
  key: 'change',
  title: 'Change',
  width: 150,
  value: ({ bytes, baseline }) => (baseline === null ? null : bytes - baseline),
};

const BYTE_UNITS = ['B', 'KB', 'MB', 'GB', 'TB'] as const;
const [BLUE, ORANGE, , PINK] = RUN_COLORS;

/** The unit in which the most that is drawn has one to three digits. */
export function chooseByteUnit(bytes: number): { readonly name: string; readonly bytes: number } {
  const power = Math.min(
    BYTE_UNITS.length - 1,
    Math.max(0, Math.floor(Math.log10(bytes || 1) / 3)),
  );
  return { name: BYTE_UNITS[power] ?? 'B', bytes: 1000 ** power };
}

/** Memory over time: it stays as it is until the next time that something is taken or given back. */
export function makeMemoryLines(
  one: AllocatorRow,
  other: AllocatorRow | null,
  unit: number,
): Line[] {
  const line = (
    id: string,
    color: string,
    from: AllocatorRow,
    of: (at: number) => number,
    dash: readonly number[] = [],
  ): Line => {
    const start = from.ms[0] ?? 0;
    // Another capture began at another time; both begin where their first event is.
    const shift = from === one ? 0 : (one.ms[0] ?? 0) - start;
    return {
      id,
      label: id,
      color,
      dash,
      axis: 0,
      ...makeStepPoints(from.ms, of, shift, unit),
    };
  };
  const inUse = (from: AllocatorRow) => (at: number) =>
    (from.heap[at] ?? 0) + (from.stack[at] ?? 0);
  const held = (at: number): number => inUse(one)(at) + (one.cache[at] ?? 0);
  return [
    ...(one.cache.some((bytes) => bytes > 0) ? [line('held', PINK, one, held)] : []),
    ...(one.stack.some((bytes) => bytes > 0)
      ? [line('stack', ORANGE, one, (at) => one.stack[at] ?? 0)]
      : []),
    ...(other ? [line('before', '#8e8e9c', other, inUse(other), [4, 3])] : []),
    { ...line('in use', BLUE, one, inUse(one)), markers: [makePeakMark(one, unit)] },
  ];
}

function makePeakMark({ peak }: AllocatorRow, unit: number): PointMarker {
  const bytes = peak.heap + peak.stack;
  return { x: peak.ms, y: bytes / unit, kind: 'max', text: `peak ${formatBytes(bytes)}` };
}

/** Each value holds up to the next: two points for each but the last. */
export function makeStepPoints(
  ms: Float64Array,
  of: (at: number) => number,
  shift: number,
  unit: number,
): { readonly x: Float64Array; readonly y: Float64Array } {
  const count = Math.max(0, 2 * ms.length - 1);
  const [x, y] = [new Float64Array(count), new Float64Array(count)];
  for (let at = 0; at < count; at++) {
    x[at] = (ms[(at + 1) >> 1] ?? 0) + shift;
    y[at] = of(at >> 1) / unit;
  }
  return { x, y };
}

/** Where steps begin, as long as there are few of them. */
export function makeStepFlags(names: readonly string[], starts: Float64Array): Annotation[] {
  const MOST_STEPS = 12;
  if (starts.length > MOST_STEPS) return [];
  return Array.from(starts, (x, at) => ({ id: `step ${at}`, x, text: names[at] ?? '' }));
}
