import type { TableColumn } from '../../../components/data-table';
import { formatBytes, formatCount } from '../../../lib/format';
import { formatMs, formatPercent, shortenOpName } from '../display';
import { type KernelsResponse, TENSOR_CORES_UNKNOWN, TENSOR_CORES_USED } from '../schemas';

/** A kernel launched in one way, all launches of a kernel, or all kernels of an op. */
export interface KernelRow {
  readonly name: string;
  readonly op: string;
  readonly type: string;
  readonly grid: string;
  readonly block: string;
  readonly registers: number;
  readonly sharedBytes: number;
  readonly occupancy: number;
  readonly fill: number;
  /** 0 no, 1 yes, 2 not known; of several, what most of their time is. */
  readonly tensorCores: number;
  readonly eligible: boolean;
  readonly count: number;
  readonly total: number;
  readonly min: number;
  readonly max: number;
  readonly longestEvent: number;
  /** Time in the other capture; null where nothing is compared. */
  readonly baseline: number | null;
  /** How many rows it was made of. */
  readonly launchCount: number;
}

export type KernelGrouping = 'launch' | 'kernel' | 'op';

export function makeKernelRows(
  one: KernelsResponse,
  other: KernelsResponse | null,
  grouping: KernelGrouping,
  perStep: boolean,
): KernelRow[] {
  const now = groupKernels(one, grouping, perStep);
  const before = other && groupKernels(other, grouping, perStep);
  const rows = Array.from(now, ([key, row]) => ({
    ...row,
    baseline: before && (before.get(key)?.total ?? 0),
  }));
  const gone = Array.from(before ?? []).filter(([key]) => !now.has(key));
  return [...rows, ...gone.map(([, row]) => ({ ...row, ...NOT_RUN, baseline: row.total }))];
}

const NOT_RUN = { count: 0, total: 0, min: NaN, max: NaN, longestEvent: -1 };

function groupKernels(
  answer: KernelsResponse,
  grouping: KernelGrouping,
  perStep: boolean,
): Map<string, KernelRow> {
  const steps = perStep ? Math.max(answer.steps, 1) : 1;
  const rows = new Map<string, KernelRow>();
  answer.names.forEach((_, at) => {
    const row = readKernelRow(answer, at, steps);
    const key = getKernelKey(row, grouping);
    const known = rows.get(key);
    rows.set(key, known ? mergeKernelRows(known, row) : row);
  });
  return rows;
}

function getKernelKey({ name, op, grid, block }: KernelRow, grouping: KernelGrouping): string {
  if (grouping === 'op') return op || name;
  return grouping === 'kernel' ? name : [name, op, grid, block].join('\n');
}

function readKernelRow(answer: KernelsResponse, at: number, steps: number): KernelRow {
  return {
    name: answer.names[at] ?? '',
    op: answer.ops[at] ?? '',
    type: answer.types[at] ?? '',
    grid: answer.grids[at] ?? '',
    block: answer.blocks[at] ?? '',
    registers: answer.registers[at] ?? 0,
    sharedBytes: answer.shared_bytes[at] ?? 0,
    occupancy: answer.occupancy[at] ?? NaN,
    fill: answer.fill[at] ?? NaN,
    tensorCores: answer.tensor_cores[at] ?? TENSOR_CORES_UNKNOWN,
    eligible: answer.eligible[at] === 1,
    count: (answer.counts[at] ?? 0) / steps,
    total: (answer.total_ms[at] ?? 0) / steps,
    min: answer.min_ms[at] ?? NaN,
    max: answer.max_ms[at] ?? NaN,
    longestEvent: answer.longest[at] ?? -1,
    baseline: null,
    launchCount: 1,
  };
}

/** Kernels come with those that ran longest first: what the first says stands for all. */
function mergeKernelRows(one: KernelRow, other: KernelRow): KernelRow {
  return {
    ...one,
    grid: one.grid === other.grid ? one.grid : '',
    block: one.block === other.block ? one.block : '',
    registers: Math.max(one.registers, other.registers),
    sharedBytes: Math.max(one.sharedBytes, other.sharedBytes),
    occupancy: averageOverTime(one, other, ({ occupancy }) => occupancy),
    fill: averageOverTime(one, other, ({ fill }) => fill),
    eligible: one.eligible || other.eligible,
    count: one.count + other.count,
    total: one.total + other.total,
    min: Math.min(one.min, other.min),
    max: Math.max(one.max, other.max),
    launchCount: one.launchCount + other.launchCount,
  };
}

/** The mean over the time that both ran. */
function averageOverTime(
  one: KernelRow,
  other: KernelRow,
  valueOf: (row: KernelRow) => number,
): number {
  const [a, b] = [valueOf(one), valueOf(other)];
  if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) ? b : a;
  return (a * one.total + b * other.total) / (one.total + other.total || 1);
}

/** How well the device is used, over the time that kernels ran. */
export interface KernelSummary {
  readonly total: number;
  readonly eligible: number;
  /** Time on tensor cores, and where nobody knows, of the kernels that could use them. */
  readonly tensorCores: number;
  readonly unknown: number;
  readonly occupancy: number;
  readonly fill: number;
}

export function summarizeKernels(answer: KernelsResponse, perStep: boolean): KernelSummary {
  const steps = perStep ? Math.max(answer.steps, 1) : 1;
  const rows = answer.names.map((_, at) => readKernelRow(answer, at, steps));
  const products = rows.filter(
    ({ eligible, tensorCores }) => eligible || tensorCores === TENSOR_CORES_USED,
  );
  return {
    total: sumKernelTime(rows),
    eligible: sumKernelTime(products),
    tensorCores: sumKernelTime(
      products.filter(({ tensorCores }) => tensorCores === TENSOR_CORES_USED),
    ),
    unknown: sumKernelTime(
      products.filter(({ tensorCores }) => tensorCores === TENSOR_CORES_UNKNOWN),
    ),
    occupancy: meanOverTime(rows, ({ occupancy }) => occupancy),
    fill: meanOverTime(rows, ({ fill }) => fill),
  };
}

function sumKernelTime(rows: readonly KernelRow[]): number {
  return rows.reduce((sum, { total }) => sum + total, 0);
}

function meanOverTime(rows: readonly KernelRow[], valueOf: (row: KernelRow) => number): number {
  const known = rows.filter((row) => !Number.isNaN(valueOf(row)));
  return known.reduce((sum, row) => sum + valueOf(row) * row.total, 0) / sumKernelTime(known);
}

/** Less than this of a device is worth a look. */
const LOW_SHARE = 0.25;

/** The columns of kernels; how they were launched only where that is one way each. */
export function makeKernelColumns(
  rows: readonly KernelRow[],
  total: number,
  grouping: KernelGrouping,
  compares: boolean,
  occupancyIs: string,
): TableColumn<KernelRow>[] {
  const longest = rows.reduce((most, row) => Math.max(most, row.total), 0);
  const occupancyAbout =
    occupancyIs === 'achieved'
      ? 'How full the multiprocessors were at most, by the size of the grid'
      : 'How full a multiprocessor can get, by registers, shared memory and block';
  return [
    makeNameColumn(grouping),
    ...(grouping === 'op' ? [] : [OP_COLUMN]),
    makeNumberColumn(
      'count',
      'Times',
      68,
      ({ count }) => count,
      (count) => formatCount(Math.round(count * 10) / 10),
    ),
    {
      ...makeNumberColumn('total', 'Time', 104, (row) => row.total, formatMs),
      bar: (row) => row.total / (longest || 1),
      barColor: ({ eligible, tensorCores }) =>
        tensorCores === TENSOR_CORES_USED
          ? 'var(--good)'
          : eligible && tensorCores !== TENSOR_CORES_UNKNOWN
            ? 'var(--bad)'
            : 'var(--accent)',
    },
    makeNumberColumn('share', 'Share', 72, (row) => row.total / (total || 1), formatPercent),
    ...(compares ? BASELINE_COLUMNS : []),
    makeNumberColumn('mean', 'Each', 80, ({ total, count }) => total / (count || NaN), formatMs),
    {
      key: 'tensor',
      title: 'Tensor cores',
      description: 'Whether it multiplies on the units made for that, as its name tells',
      width: 104,
      isText: true,
      value: formatTensorCores,
      text: formatTensorCores,
    },
    makeNumberColumn(
      'occupancy',
      'Occupancy',
      84,
      ({ occupancy }) => occupancy / 100,
      formatPercent,
      occupancyAbout,
    ),
    makeNumberColumn(
      'fill',
      'Filled',
      68,
      ({ fill }) => fill,
      formatPercent,
      'How many of the multiprocessors the grid has a block for',
    ),
    ...(grouping === 'launch' ? LAUNCH_COLUMNS : []),
    makeNumberColumn('max', 'Longest', 80, ({ max }) => max, formatMs),
  ];
}

export function isLow(share: number): boolean {
  return share < LOW_SHARE;
}

/** In words, for who does not see colours. */
export function formatTensorCores({ tensorCores, eligible }: KernelRow): string {
  if (tensorCores === TENSOR_CORES_USED) return 'yes';
  if (tensorCores === TENSOR_CORES_UNKNOWN) return 'not known';
  return eligible ? 'no, but could' : '–';
}

function makeNameColumn(grouping: KernelGrouping): TableColumn<KernelRow> {
  const isOp = grouping === 'op';
  const value = ({ name, op }: KernelRow): string => (isOp ? op || name : name);
  return { key: 'name', title: isOp ? 'Op' : 'Kernel', width: 260, isText: true, value };
}

const OP_COLUMN: TableColumn<KernelRow> = {
  key: 'op',
  title: 'Op',
  width: 180,
  isText: true,
  value: ({ op }) => op,
  text: ({ op }) => shortenOpName(op),
};

const BASELINE_COLUMNS: readonly TableColumn<KernelRow>[] = [
  makeNumberColumn(
    'before',
    'Before',
    84,
    ({ baseline }) => baseline ?? NaN,
    formatMs,
    'Time in the other capture',
  ),
  {
    key: 'change',
    title: 'Change',
    width: 132,
    value: ({ total, baseline }) => (baseline === null ? null : total - baseline),
  },
];

const LAUNCH_COLUMNS: readonly TableColumn<KernelRow>[] = [
  makeDimensionsColumn('grid', 'Grid', 'How many blocks', ({ grid }) => grid),
  makeDimensionsColumn('block', 'Block', 'How many threads a block has', ({ block }) => block),
  makeNumberColumn(
    'registers',
    'Registers',
    78,
    ({ registers }) => registers,
    String,
    'Of one thread',
  ),
  makeNumberColumn(
    'shared',
    'Shared',
    80,
    ({ sharedBytes }) => sharedBytes,
    formatBytes,
    'Shared memory of one block',
  ),
];

/** Three numbers, sorted by their product. */
function makeDimensionsColumn(
  key: string,
  title: string,
  about: string,
  of: (row: KernelRow) => string,
): TableColumn<KernelRow> {
  const product = (row: KernelRow): number =>
    of(row) === ''
      ? NaN
      : of(row)
          .split(',')
          .reduce((product, each) => product * Number(each), 1);
  return {
    key,
    title,
    description: about,
    width: 92,
    value: product,
    text: (row) => of(row).replaceAll(',', ' × '),
  };
}

function makeNumberColumn(
  key: string,
  title: string,
  width: number,
  value: (row: KernelRow) => number,
  format: (value: number) => string,
  about = title,
): TableColumn<KernelRow> {
  const text = (row: KernelRow): string => (Number.isNaN(value(row)) ? '' : format(value(row)));
  return { key, title, description: about, width, value, text };
}
