import type {
  AllocationColumns,
  AllocatorRow,
  HeapResponse,
  SegmentColumns,
  SnapshotDevice,
} from '../../../api/schemas';
import * as common from '../../../catalog/common';
import * as m from '../../../catalog/profile';
import type { Annotation, Band, Line, PointMarker } from '../../../charts/types';
import type { TableColumn } from '../../../components/data-table';
import { RUN_COLORS } from '../../../lib/colors';
import { formatBytes, formatCount } from '../../../lib/format';
import { formatPercent, formatStepName } from '../display';

const GRAY = '#8e8e9c';
const LIGHT_GRAY = '#b9b9c4';
const [BLUE = '', ORANGE = '', GREEN = '', PINK = '', TEAL = ''] = RUN_COLORS;

// ---- Allocations

/** A group of equal allocations. */
export interface AllocationRow {
  readonly op: string;
  readonly bytes: number;
  readonly requested: number;
  readonly count: number;
  readonly region: string;
  readonly type: string;
  readonly shape: string;
  readonly event: number;
  /** Of a leak, the number of steps that made such an allocation. */
  readonly steps: number;
  readonly isLeaked: boolean;
  /** Bytes in the baseline capture; null without one. */
  readonly baseline: number | null;
}

/** Names of allocations that no op made. */
const REGION_NAMES: Readonly<Record<string, string>> = {
  before: m.memoryRegionBefore,
  stack: m.memoryRegionStack,
};

/** Return what was in use at the peak. */
export function makeAllocationRows(
  current: AllocatorRow,
  baseline: AllocatorRow | null,
): AllocationRow[] {
  const leaks = new Set(readAllocations(current.leaks).map(getAllocationKey));
  const baselineBytes = baseline && sumByKey(readAllocations(baseline.peak_allocations));
  return readAllocations(current.peak_allocations).map((row) => ({
    ...row,
    isLeaked: leaks.has(getAllocationKey(row)),
    baseline: baselineBytes && (baselineBytes.get(getAllocationKey(row)) ?? 0),
  }));
}

function readAllocations(columns: AllocationColumns): AllocationRow[] {
  return columns.ops.map((op, index) => ({
    op: op || (REGION_NAMES[columns.regions[index] ?? ''] ?? common.unknown),
    bytes: columns.bytes[index] ?? 0,
    requested: columns.requested[index] ?? 0,
    count: columns.counts[index] ?? 0,
    region: columns.regions[index] ?? '',
    type: columns.types[index] ?? '',
    shape: columns.shapes[index] ?? '',
    event: columns.events[index] ?? -1,
    steps: columns.steps[index] ?? 0,
    isLeaked: false,
    baseline: null,
  }));
}

function getAllocationKey({ op, shape, bytes, count }: AllocationRow): string {
  // Allocations without a shape are distinguished by their size.
  return [op, shape || bytes / (count || 1)].join('\n');
}

function sumByKey(rows: readonly AllocationRow[]): Map<string, number> {
  const sums = new Map<string, number>();
  for (const row of rows)
    sums.set(getAllocationKey(row), (sums.get(getAllocationKey(row)) ?? 0) + row.bytes);
  return sums;
}

/** Return by how much the memory in use grows per step, on average. */
export function getGrowthPerStep({ step_heap_bytes: heaps }: AllocatorRow): number {
  const [first = 0, last = 0] = [heaps[0], heaps.at(-1)];
  return heaps.length > 1 ? (last - first) / (heaps.length - 1) : 0;
}

export function makeAllocationColumns(
  rows: readonly AllocationRow[],
  total: number,
  hasBaseline: boolean,
): TableColumn<AllocationRow>[] {
  const largest = rows.reduce((max, { bytes }) => Math.max(max, bytes), 0);
  return [
    { key: 'op', title: m.columnOp, width: 240, isText: true, value: ({ op }) => op },
    {
      ...makeBytesColumn('bytes', m.memoryColumnAllocated, (row) => row.bytes),
      bar: (row) => row.bytes / (largest || 1),
      barColor: ({ isLeaked, region }) =>
        isLeaked ? 'var(--bad)' : region === 'before' ? 'var(--line-strong)' : 'var(--accent)',
    },
    {
      key: 'share',
      title: m.columnShare,
      description: m.memoryColumnShareHint,
      width: 72,
      value: (row) => row.bytes / (total || 1),
      text: (row) => formatPercent(row.bytes / (total || 1)),
    },
    ...(hasBaseline ? BASELINE_COLUMNS : []),
    makeBytesColumn('requested', m.memoryColumnRequested, ({ requested }) => requested),
    {
      key: 'count',
      title: common.count,
      description: m.memoryColumnCountHint,
      width: 66,
      value: ({ count }) => count,
      text: ({ count }) => String(count),
    },
    ...TEXT_COLUMNS.filter(({ text }) => rows.some((row) => text?.(row))),
  ];
}

/** PyTorch records none of these; empty columns are left out. */
const TEXT_COLUMNS: readonly TableColumn<AllocationRow>[] = [
  makeTextColumn('region', m.columnKind, 92, ({ region }) =>
    region in REGION_NAMES ? '' : region,
  ),
  makeTextColumn('type', common.type, 84, ({ type }) => type),
  makeTextColumn('shape', m.columnShape, 150, ({ shape }) => shape),
];

const BASELINE_COLUMNS: readonly TableColumn<AllocationRow>[] = [
  makeBytesColumn('before', common.baseline, ({ baseline }) => baseline ?? NaN),
  {
    key: 'change',
    title: common.change,
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
  value: (row: AllocationRow) => string,
): TableColumn<AllocationRow> {
  return { key, title, width, isText: true, value, text: value };
}

// ---- Heap profiles

/** Memory in use that one line of the program allocated. */
export interface HeapRow {
  readonly location: string;
  readonly stack: string;
  readonly kind: string;
  readonly device: string;
  readonly count: number;
  readonly bytes: number;
  /** Bytes in the baseline profile; null without one. */
  readonly baseline: number | null;
}

/** Group samples by line, kind and device. The stack is that of the largest sample. */
export function makeHeapRows(current: HeapResponse, baseline: HeapResponse | null): HeapRow[] {
  const groups = groupHeap(current);
  const baselineGroups = baseline && groupHeap(baseline);
  const gone = Array.from(baselineGroups ?? []).filter(([key]) => !groups.has(key));
  return [
    ...Array.from(groups, ([key, row]) => ({
      ...row,
      baseline: baselineGroups && (baselineGroups.get(key)?.bytes ?? 0),
    })),
    ...gone.map(([, row]) => ({ ...row, bytes: 0, count: 0, baseline: row.bytes })),
  ];
}

function groupHeap(response: HeapResponse): Map<string, HeapRow> {
  const rows = new Map<string, HeapRow>();
  response.locations.forEach((where, index) => {
    const [kind = '', device = ''] = [response.kinds[index], response.devices[index]];
    const key = [where, kind, device].join('\n');
    const known = rows.get(key);
    rows.set(key, {
      location: where || common.unknown,
      stack: known?.stack ?? response.stacks[index] ?? '',
      kind,
      device,
      count: (known?.count ?? 0) + (response.counts[index] ?? 0),
      bytes: (known?.bytes ?? 0) + (response.bytes[index] ?? 0),
      baseline: null,
    });
  });
  return rows;
}

export function makeHeapColumns(
  rows: readonly HeapRow[],
  total: number,
  hasBaseline: boolean,
): TableColumn<HeapRow>[] {
  const largest = rows.reduce((max, { bytes }) => Math.max(max, bytes), 0);
  return [
    {
      key: 'where',
      title: m.heapColumnLocationLabel,
      description: m.heapColumnLocationHint,
      width: 280,
      isText: true,
      value: ({ location }) => location,
    },
    {
      key: 'bytes',
      title: m.columnBytes,
      width: 104,
      value: ({ bytes }) => bytes,
      text: ({ bytes }) => formatBytes(bytes),
      bar: ({ bytes }) => bytes / (largest || 1),
    },
    {
      key: 'share',
      title: m.columnShare,
      width: 76,
      value: ({ bytes }) => bytes / (total || 1),
      text: ({ bytes }) => formatPercent(bytes / (total || 1)),
    },
    ...(hasBaseline ? [HEAP_CHANGE_COLUMN] : []),
    {
      key: 'count',
      title: m.columnAllocations,
      width: 72,
      value: ({ count }) => count,
      text: ({ count }) => formatCount(count),
    },
    {
      key: 'kind',
      title: m.columnKind,
      description: m.heapColumnKindHint,
      width: 100,
      isText: true,
      value: ({ kind }) => kind,
      text: ({ kind }) => HEAP_KIND_LABELS[kind] ?? kind,
    },
    {
      key: 'device',
      title: common.device,
      width: 110,
      isText: true,
      value: ({ device }) => device,
      text: ({ device }) => device,
    },
  ];
}

const HEAP_KIND_LABELS: Readonly<Record<string, string>> = {
  buffer: m.heapKindBuffer,
  executable: m.heapKindExecutable,
};

const HEAP_CHANGE_COLUMN: TableColumn<HeapRow> = {
  key: 'change',
  title: common.change,
  width: 150,
  value: ({ bytes, baseline }) => (baseline === null ? null : bytes - baseline),
};

// ---- Chart

const BYTE_UNITS = ['B', 'kB', 'MB', 'GB', 'TB'] as const;
const MAX_LABELED_STEPS = 12;

/** Return the unit in which a number of bytes has one to three digits. */
export function chooseByteUnit(bytes: number): { readonly name: string; readonly bytes: number } {
  const power = Math.min(
    BYTE_UNITS.length - 1,
    Math.max(0, Math.floor(Math.log10(bytes || 1) / 3)),
  );
  return { name: BYTE_UNITS[power] ?? 'B', bytes: 1000 ** power };
}

/** Return lines of the memory over time, which changes in steps. */
export function makeMemoryLines(
  current: AllocatorRow,
  baseline: AllocatorRow | null,
  unitBytes: number,
): Line[] {
  const getUsed =
    ({ heap, stack }: AllocatorRow) =>
    (index: number): number =>
      (heap[index] ?? 0) + (stack[index] ?? 0);
  const getReserved = (index: number): number =>
    getUsed(current)(index) + (current.cache[index] ?? 0);
  const getStack = (index: number): number => current.stack[index] ?? 0;
  const makeLine = (
    line: Pick<Line, 'id' | 'label' | 'color'>,
    getBytes: (index: number) => number,
  ): Line => ({
    ...line,
    dash: [],
    axis: 0,
    ...makeStepPoints(current.ms, getBytes, 0, unitBytes),
  });
  const lines: Line[] = [];
  if (current.cache.some((bytes) => bytes > 0))
    lines.push(makeLine({ id: 'reserved', label: m.memoryLineReserved, color: PINK }, getReserved));
  if (current.stack.some((bytes) => bytes > 0))
    lines.push(makeLine({ id: 'stack', label: m.memoryLineStack, color: ORANGE }, getStack));
  if (baseline) {
    // Both captures start at their first event.
    const shift = (current.ms[0] ?? 0) - (baseline.ms[0] ?? 0);
    lines.push({
      id: 'baseline',
      label: common.baseline,
      color: GRAY,
      dash: [4, 3],
      axis: 0,
      ...makeStepPoints(baseline.ms, getUsed(baseline), shift, unitBytes),
    });
  }
  const used = makeLine({ id: 'used', label: m.memoryLineInUse, color: BLUE }, getUsed(current));
  return [...lines, { ...used, markers: [makePeakMarker(current, unitBytes)] }];
}

function makePeakMarker({ peak }: AllocatorRow, unitBytes: number): PointMarker {
  const bytes = peak.heap + peak.stack;
  const text = m.memoryMarkPeak({ bytes: formatBytes(bytes) });
  return { x: peak.ms, y: bytes / unitBytes, kind: 'max', text };
}

/** Return the points of a step line: two for each value but the last. */
export function makeStepPoints(
  ms: Float64Array,
  getBytes: (index: number) => number,
  shift: number,
  unitBytes: number,
): { readonly x: Float64Array; readonly y: Float64Array } {
  const count = Math.max(0, 2 * ms.length - 1);
  const [x, y] = [new Float64Array(count), new Float64Array(count)];
  for (let index = 0; index < count; index++) {
    x[index] = (ms[(index + 1) >> 1] ?? 0) + shift;
    y[index] = getBytes(index >> 1) / unitBytes;
  }
  return { x, y };
}

/** Mark the starts of steps, unless there are many. */
export function makeStepAnnotations(names: readonly string[], starts: Float64Array): Annotation[] {
  if (starts.length > MAX_LABELED_STEPS) return [];
  return Array.from(starts, (x, index) => ({
    id: `step ${index}`,
    x,
    text: formatStepName(names[index] ?? ''),
  }));
}

/** Number rows of the same name: `jit_step`, `jit_step (2)`. */
export function nameUniquely<Row extends { readonly name: string }>(rows: readonly Row[]): Row[] {
  const counts = new Map<string, number>();
  return rows.map((row) => {
    const count = (counts.get(row.name) ?? 0) + 1;
    counts.set(row.name, count);
    return count === 1 ? row : { ...row, name: `${row.name} (${String(count)})` };
  });
}

// ---- Snapshots

interface CategoryStyle {
  readonly label: string;
  readonly color: string;
}

const UNKNOWN_STYLE: CategoryStyle = { label: common.unknown, color: LIGHT_GRAY };

const CATEGORY_STYLES: Readonly<Record<string, CategoryStyle>> = {
  weights: { label: m.snapshotCategoryWeights, color: BLUE },
  gradients: { label: m.snapshotCategoryGradients, color: ORANGE },
  optimizer: { label: m.snapshotCategoryOptimizer, color: TEAL },
  activations: { label: m.snapshotCategoryActivations, color: GREEN },
  workspace: { label: m.snapshotCategoryWorkspace, color: PINK },
  other: { label: common.other, color: GRAY },
  unknown: UNKNOWN_STYLE,
};

export function getCategoryStyle(category: string): CategoryStyle {
  return CATEGORY_STYLES[category] ?? UNKNOWN_STYLE;
}

// ---- Snapshots: Memory over time

/** Return the memory of categories over time as areas on top of each other. */
export function makeCategoryBands({ ms, categories }: SnapshotDevice, unitBytes: number): Band[] {
  let base = new Float64Array(ms.length);
  const bands: Band[] = [];
  for (const { name, bytes } of categories) {
    if (!bytes.some((value) => value > 0)) continue;
    const low = base;
    const high = base.map((value, index) => value + (bytes[index] ?? 0));
    base = high;
    const lows = makeStepPoints(ms, (index) => low[index] ?? 0, 0, unitBytes);
    const highs = makeStepPoints(ms, (index) => high[index] ?? 0, 0, unitBytes);
    bands.push({
      id: name,
      ...getCategoryStyle(name),
      axis: 0,
      x: lows.x,
      low: lows.y,
      center: highs.y,
      high: highs.y,
    });
  }
  return bands;
}

/** Return the reserved memory over time, with a marker at the peak of the memory in use. */
export function makeReservedLine(device: SnapshotDevice, unitBytes: number): Line {
  const { ms, reserved, peak_ms: x, peak_bytes: peakBytes } = device;
  const text = m.memoryMarkPeak({ bytes: formatBytes(peakBytes) });
  return {
    id: 'reserved',
    label: m.memoryLineReserved,
    color: GRAY,
    dash: [4, 3],
    axis: 0,
    ...makeStepPoints(ms, (index) => reserved[index] ?? 0, 0, unitBytes),
    markers: [{ x, y: peakBytes / unitBytes, kind: 'max', text }],
  };
}

// ---- Snapshots: Memory at the peak

/** The memory that one stack allocated. */
export interface LiveRow {
  readonly category: string;
  readonly location: string;
  readonly stack: string;
  readonly bytes: number;
  readonly count: number;
  readonly largest: number;
}

export function makeLiveRows({ live }: SnapshotDevice): LiveRow[] {
  return live.locations.map((location, index) => ({
    category: live.categories[index] ?? '',
    location: location || common.unknown,
    stack: live.stacks[index] ?? '',
    bytes: live.bytes[index] ?? 0,
    count: live.counts[index] ?? 0,
    largest: live.largest[index] ?? 0,
  }));
}

export function makeLiveColumns(
  rows: readonly LiveRow[],
  totalBytes: number,
): TableColumn<LiveRow>[] {
  const largest = rows.reduce((max, { bytes }) => Math.max(max, bytes), 0);
  return [
    {
      key: 'where',
      title: m.snapshotColumnLocation,
      description: m.snapshotColumnLocationHint,
      width: 280,
      isText: true,
      value: ({ location }) => location,
      text: ({ location }) => location,
      tooltip: ({ stack, location }) => stack || location,
    },
    {
      key: 'category',
      title: m.snapshotColumnCategory,
      description: m.snapshotCategoryHint,
      width: 110,
      isText: true,
      value: ({ category }) => category,
      text: ({ category }) => getCategoryStyle(category).label,
    },
    {
      key: 'bytes',
      title: m.columnBytes,
      width: 104,
      value: ({ bytes }) => bytes,
      text: ({ bytes }) => formatBytes(bytes),
      bar: ({ bytes }) => bytes / (largest || 1),
      barColor: ({ category }) => getCategoryStyle(category).color,
    },
    {
      key: 'share',
      title: m.columnShare,
      description: m.memoryColumnShareHint,
      width: 76,
      value: ({ bytes }) => bytes / (totalBytes || 1),
      text: ({ bytes }) => formatPercent(bytes / (totalBytes || 1)),
    },
    {
      key: 'count',
      title: m.columnAllocations,
      width: 88,
      value: ({ count }) => count,
      text: ({ count }) => formatCount(count),
    },
    {
      key: 'largest',
      title: m.snapshotColumnLargest,
      description: m.snapshotColumnLargestHint,
      width: 92,
      value: (row) => row.largest,
      text: (row) => formatBytes(row.largest),
    },
  ];
}

// ---- Snapshots: Segments

/** A block in use; free blocks are gaps. */
export interface BlockShape {
  readonly start: number;
  readonly size: number;
  readonly category: string;
}

/** A segment, with blocks relative to its size. */
export interface SegmentShape {
  readonly size: number;
  readonly active: number;
  readonly kind: string;
  readonly blocks: readonly BlockShape[];
}

export function makeSegmentShapes(
  segments: SegmentColumns,
  categories: readonly string[],
): SegmentShape[] {
  const blocks: BlockShape[][] = Array.from(segments.sizes, () => []);
  segments.block_segments.forEach((segment, index) => {
    const category = segments.block_categories[index] ?? -1;
    const size = segments.sizes[segment] ?? 0;
    if (category < 0 || size <= 0) return;
    blocks[segment]?.push({
      start: (segments.block_offsets[index] ?? 0) / size,
      size: (segments.block_sizes[index] ?? 0) / size,
      category: categories[category] ?? '',
    });
  });
  return blocks.map((own, index) => ({
    size: segments.sizes[index] ?? 0,
    active: segments.active[index] ?? 0,
    kind: segments.kinds[index] ?? '',
    blocks: own,
  }));
}
