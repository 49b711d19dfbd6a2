import type { KernelsResponse } from '../../../api/schemas';
import type { TableColumn } from '../../../components/data-table';
import { formatBytes, formatCount } from '../../../lib/format';
import { formatMs, formatPercent, shortenOpName } from '../display';
import * as common from '../../../catalog/common';
import * as m from '../../../catalog/profile';

// ---- Rows

/** Values of `KernelsResponse.tensor_cores`; 0 means that they are not used. */
const TENSOR_CORES_USED = 1;
const TENSOR_CORES_UNKNOWN = 2;

/** Launches of a kernel in one configuration, all its launches, or all kernels of an op. */
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
  /** Whether tensor cores are used; of several kernels, that of the longest. */
  readonly tensorCores: number;
  readonly eligible: boolean;
  readonly count: number;
  readonly total: number;
  readonly min: number;
  readonly max: number;
  readonly longestEvent: number;
  /** Time in the baseline capture; null without first. */
  readonly baseline: number | null;
  /** Number of launch configurations. */
  readonly launchCount: number;
}

export type KernelGrouping = 'launch' | 'kernel' | 'op';

export function makeKernelRows(
  current: KernelsResponse,
  baseline: KernelsResponse | null,
  grouping: KernelGrouping,
  perStep: boolean,
): KernelRow[] {
  const groups = groupKernels(current, grouping, perStep);
  const baselineGroups = baseline && groupKernels(baseline, grouping, perStep);
  const rows = Array.from(groups, ([key, row]) => ({
    ...row,
    baseline: baselineGroups && (baselineGroups.get(key)?.total ?? 0),
  }));
  const gone = Array.from(baselineGroups ?? []).filter(([key]) => !groups.has(key));
  return [...rows, ...gone.map(([, row]) => ({ ...row, ...NOT_RUN, baseline: row.total }))];
}

const NOT_RUN = { count: 0, total: 0, min: NaN, max: NaN, longestEvent: -1 };

function groupKernels(
  response: KernelsResponse,
  grouping: KernelGrouping,
  perStep: boolean,
): Map<string, KernelRow> {
  const steps = perStep ? Math.max(response.steps, 1) : 1;
  const rows = new Map<string, KernelRow>();
  response.names.forEach((_, index) => {
    const row = readKernelRow(response, index, steps);
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

function readKernelRow(response: KernelsResponse, index: number, steps: number): KernelRow {
  return {
    name: response.names[index] ?? '',
    op: response.ops[index] ?? '',
    type: response.types[index] ?? '',
    grid: response.grids[index] ?? '',
    block: response.blocks[index] ?? '',
    registers: response.registers[index] ?? 0,
    sharedBytes: response.shared_bytes[index] ?? 0,
    occupancy: response.occupancy[index] ?? NaN,
    fill: response.fill[index] ?? NaN,
    tensorCores: response.tensor_cores[index] ?? TENSOR_CORES_UNKNOWN,
    eligible: response.eligible[index] === 1,
    count: (response.counts[index] ?? 0) / steps,
    total: (response.total_ms[index] ?? 0) / steps,
    min: response.min_ms[index] ?? NaN,
    max: response.max_ms[index] ?? NaN,
    longestEvent: response.longest[index] ?? -1,
    baseline: null,
    launchCount: 1,
  };
}

/** Kernels are sorted by time, so the first one represents all. */
function mergeKernelRows(first: KernelRow, second: KernelRow): KernelRow {
  return {
    ...first,
    grid: first.grid === second.grid ? first.grid : '',
    block: first.block === second.block ? first.block : '',
    registers: Math.max(first.registers, second.registers),
    sharedBytes: Math.max(first.sharedBytes, second.sharedBytes),
    occupancy: averageOverTime(first, second, ({ occupancy }) => occupancy),
    fill: averageOverTime(first, second, ({ fill }) => fill),
    eligible: first.eligible || second.eligible,
    count: first.count + second.count,
    total: first.total + second.total,
    min: Math.min(first.min, second.min),
    max: Math.max(first.max, second.max),
    launchCount: first.launchCount + second.launchCount,
  };
}

/** Return the mean weighted by time. */
function averageOverTime(
  first: KernelRow,
  second: KernelRow,
  getValue: (row: KernelRow) => number,
): number {
  const [a, b] = [getValue(first), getValue(second)];
  if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) ? b : a;
  return (a * first.total + b * second.total) / (first.total + second.total || 1);
}

// ---- Summary

/** How well kernels use the device; means are weighted by time. */
export interface KernelSummary {
  readonly total: number;
  readonly eligible: number;
  /** Time of kernels that could use tensor cores: those that do, and those of which it is unknown. */
  readonly tensorCores: number;
  readonly unknown: number;
  readonly occupancy: number;
  readonly fill: number;
}

export function summarizeKernels(response: KernelsResponse, perStep: boolean): KernelSummary {
  const steps = perStep ? Math.max(response.steps, 1) : 1;
  const rows = response.names.map((_, index) => readKernelRow(response, index, steps));
  const eligible = rows.filter(
    ({ eligible, tensorCores }) => eligible || tensorCores === TENSOR_CORES_USED,
  );
  return {
    total: sumKernelTime(rows),
    eligible: sumKernelTime(eligible),
    tensorCores: sumKernelTime(
      eligible.filter(({ tensorCores }) => tensorCores === TENSOR_CORES_USED),
    ),
    unknown: sumKernelTime(
      eligible.filter(({ tensorCores }) => tensorCores === TENSOR_CORES_UNKNOWN),
    ),
    occupancy: meanOverTime(rows, ({ occupancy }) => occupancy),
    fill: meanOverTime(rows, ({ fill }) => fill),
  };
}

function sumKernelTime(rows: readonly KernelRow[]): number {
  return rows.reduce((sum, { total }) => sum + total, 0);
}

function meanOverTime(rows: readonly KernelRow[], getValue: (row: KernelRow) => number): number {
  const known = rows.filter((row) => !Number.isNaN(getValue(row)));
  return known.reduce((sum, row) => sum + getValue(row) * row.total, 0) / sumKernelTime(known);
}

/** Smaller shares of the device are highlighted. */
const LOW_SHARE = 0.25;

export function isLow(share: number): boolean {
  return share < LOW_SHARE;
}

// ---- Columns

export function makeKernelColumns(
  rows: readonly KernelRow[],
  total: number,
  grouping: KernelGrouping,
  hasBaseline: boolean,
  occupancyKind: KernelsResponse['occupancy_kind'],
): TableColumn<KernelRow>[] {
  const longest = rows.reduce((max, row) => Math.max(max, row.total), 0);
  const occupancyHint =
    occupancyKind === 'achieved'
      ? m.kernelsColumnOccupancyAchievedHint
      : m.kernelsColumnOccupancyTheoreticalHint;
  return [
    makeNameColumn(grouping),
    ...(grouping === 'op' ? [] : [OP_COLUMN]),
    makeNumberColumn(
      'count',
      m.columnCalls,
      68,
      ({ count }) => count,
      (count) => formatCount(Math.round(count * 10) / 10),
    ),
    {
      ...makeNumberColumn('total', common.time, 104, (row) => row.total, formatMs),
      bar: (row) => row.total / (longest || 1),
      barColor: ({ eligible, tensorCores }) =>
        tensorCores === TENSOR_CORES_USED
          ? 'var(--good)'
          : eligible && tensorCores !== TENSOR_CORES_UNKNOWN
            ? 'var(--bad)'
            : 'var(--accent)',
    },
    makeNumberColumn('share', m.columnShare, 72, (row) => row.total / (total || 1), formatPercent),
    ...(hasBaseline ? BASELINE_COLUMNS : []),
    makeNumberColumn(
      'mean',
      m.columnMean,
      80,
      ({ total, count }) => total / (count || NaN),
      formatMs,
    ),
    {
      key: 'tensor',
      title: m.kernelsColumnTensorCoresLabel,
      description: m.kernelsColumnTensorCoresHint,
      width: 104,
      isText: true,
      value: formatTensorCores,
      text: formatTensorCores,
    },
    makeNumberColumn(
      'occupancy',
      m.kernelsColumnOccupancyLabel,
      84,
      ({ occupancy }) => occupancy / 100,
      formatPercent,
      occupancyHint,
    ),
    makeNumberColumn(
      'fill',
      m.kernelsColumnFillLabel,
      68,
      ({ fill }) => fill,
      formatPercent,
      m.kernelsColumnFillHint,
    ),
    ...(grouping === 'launch' ? LAUNCH_COLUMNS : []),
    makeNumberColumn('max', m.columnMax, 80, ({ max }) => max, formatMs),
  ];
}

function formatTensorCores({ tensorCores, eligible }: KernelRow): string {
  if (tensorCores === TENSOR_CORES_USED) return m.kernelsTensorCoresYes;
  if (tensorCores === TENSOR_CORES_UNKNOWN) return common.unknown;
  return eligible ? m.kernelsTensorCoresEligible : common.noValueSymbol;
}

function makeNameColumn(grouping: KernelGrouping): TableColumn<KernelRow> {
  const isOp = grouping === 'op';
  const value = ({ name, op }: KernelRow): string => (isOp ? op || name : name);
  return {
    key: 'name',
    title: isOp ? m.columnOp : m.columnKernel,
    width: 260,
    isText: true,
    value,
  };
}

const OP_COLUMN: TableColumn<KernelRow> = {
  key: 'op',
  title: m.columnOp,
  width: 180,
  isText: true,
  value: ({ op }) => op,
  text: ({ op }) => shortenOpName(op),
};

const BASELINE_COLUMNS: readonly TableColumn<KernelRow>[] = [
  makeNumberColumn(
    'before',
    common.baseline,
    84,
    ({ baseline }) => baseline ?? NaN,
    formatMs,
    m.columnBaselineTimeHint,
  ),
  {
    key: 'change',
    title: common.change,
    width: 132,
    value: ({ total, baseline }) => (baseline === null ? null : total - baseline),
  },
];

const LAUNCH_COLUMNS: readonly TableColumn<KernelRow>[] = [
  makeDimensionsColumn('grid', common.grid, m.kernelsColumnGridHint, ({ grid }) => grid),
  makeDimensionsColumn(
    'block',
    m.kernelsColumnBlockLabel,
    m.kernelsColumnBlockHint,
    ({ block }) => block,
  ),
  makeNumberColumn(
    'registers',
    m.kernelsColumnRegistersLabel,
    78,
    ({ registers }) => registers,
    String,
    m.kernelsColumnRegistersHint,
  ),
  makeNumberColumn(
    'shared',
    m.kernelsColumnSharedLabel,
    80,
    ({ sharedBytes }) => sharedBytes,
    formatBytes,
    m.kernelsColumnSharedHint,
  ),
];

/** Make a column of comma-separated sizes, sorted by their product. */
function makeDimensionsColumn(
  key: string,
  title: string,
  description: string,
  getSizes: (row: KernelRow) => string,
): TableColumn<KernelRow> {
  const product = (row: KernelRow): number =>
    getSizes(row) === ''
      ? NaN
      : getSizes(row)
          .split(',')
          .reduce((product, each) => product * Number(each), 1);
  return {
    key,
    title,
    description,
    width: 92,
    value: product,
    text: (row) => getSizes(row).replaceAll(',', ' × '),
  };
}

function makeNumberColumn(
  key: string,
  title: string,
  width: number,
  value: (row: KernelRow) => number,
  format: (value: number) => string,
  description = title,
): TableColumn<KernelRow> {
  const text = (row: KernelRow): string => (Number.isNaN(value(row)) ? '' : format(value(row)));
  return { key, title, description, width, value, text };
}
