import type { SegmentColumns, SnapshotDevice } from '../../../api/schemas';
import * as common from '../../../catalog/common';
import * as m from '../../../catalog/profile';
import type { Band, Line } from '../../../charts/types';
import type { TableColumn } from '../../../components/data-table';
import { RUN_COLORS } from '../../../lib/colors';
import { formatBytes, formatCount } from '../../../lib/format';
import { formatPercent } from '../display';
import { makeStepPoints } from './memory-data';

const GRAY = '#8e8e9c';
const LIGHT_GRAY = '#b9b9c4';
const [BLUE = '', ORANGE = '', GREEN = '', PINK = '', TEAL = ''] = RUN_COLORS;

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

// ---- Memory over time

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

// ---- Memory at the peak

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

// ---- Segments

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
