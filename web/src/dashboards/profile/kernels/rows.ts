import { type KernelsAnswer, UNKNOWN, YES } from './answers';

/** A kernel launched in one way, all launches of a kernel, or all kernels of an op. */
export interface KernelRow {
  readonly name: string;
  readonly op: string;
  readonly type: string;
  readonly grid: string;
  readonly block: string;
  readonly registers: number;
  readonly shared: number;
  readonly occupancy: number;
  readonly fill: number;
  /** 0 no, 1 yes, 2 not known; of several, what most of their time is. */
  readonly tensor: number;
  readonly eligible: boolean;
  readonly count: number;
  readonly total: number;
  readonly min: number;
  readonly max: number;
  readonly longest: number;
  /** Time in the other capture; null where nothing is compared. */
  readonly before: number | null;
  /** How many rows it was made of. */
  readonly rows: number;
}

export type Grouping = 'launch' | 'kernel' | 'op';

export function makeRows(
  one: KernelsAnswer,
  other: KernelsAnswer | null,
  grouping: Grouping,
  perStep: boolean,
): KernelRow[] {
  const now = gather(one, grouping, perStep);
  const before = other && gather(other, grouping, perStep);
  const rows = Array.from(now, ([key, row]) => ({
    ...row,
    before: before && (before.get(key)?.total ?? 0),
  }));
  const gone = Array.from(before ?? []).filter(([key]) => !now.has(key));
  return [...rows, ...gone.map(([, row]) => ({ ...row, ...NOTHING, before: row.total }))];
}

const NOTHING = { count: 0, total: 0, min: NaN, max: NaN, longest: -1 };

function gather(
  answer: KernelsAnswer,
  grouping: Grouping,
  perStep: boolean,
): Map<string, KernelRow> {
  const steps = perStep ? Math.max(answer.steps, 1) : 1;
  const rows = new Map<string, KernelRow>();
  answer.names.forEach((_, at) => {
    const row = readRow(answer, at, steps);
    const key = keyOf(row, grouping);
    const known = rows.get(key);
    rows.set(key, known ? merge(known, row) : row);
  });
  return rows;
}

function keyOf({ name, op, grid, block }: KernelRow, grouping: Grouping): string {
  if (grouping === 'op') return op || name;
  return grouping === 'kernel' ? name : [name, op, grid, block].join('\n');
}

function readRow(answer: KernelsAnswer, at: number, steps: number): KernelRow {
  return {
    name: answer.names[at] ?? '',
    op: answer.ops[at] ?? '',
    type: answer.types[at] ?? '',
    grid: answer.grids[at] ?? '',
    block: answer.blocks[at] ?? '',
    registers: answer.registers[at] ?? 0,
    shared: answer.shared_bytes[at] ?? 0,
    occupancy: answer.occupancy[at] ?? NaN,
    fill: answer.fill[at] ?? NaN,
    tensor: answer.tensor_cores[at] ?? UNKNOWN,
    eligible: answer.eligible[at] === 1,
    count: (answer.counts[at] ?? 0) / steps,
    total: (answer.total_ms[at] ?? 0) / steps,
    min: answer.min_ms[at] ?? NaN,
    max: answer.max_ms[at] ?? NaN,
    longest: answer.longest[at] ?? -1,
    before: null,
    rows: 1,
  };
}

/** Kernels come with those that ran longest first: what the first says stands for all. */
function merge(one: KernelRow, other: KernelRow): KernelRow {
  return {
    ...one,
    grid: one.grid === other.grid ? one.grid : '',
    block: one.block === other.block ? one.block : '',
    registers: Math.max(one.registers, other.registers),
    shared: Math.max(one.shared, other.shared),
    occupancy: weigh(one, other, ({ occupancy }) => occupancy),
    fill: weigh(one, other, ({ fill }) => fill),
    eligible: one.eligible || other.eligible,
    count: one.count + other.count,
    total: one.total + other.total,
    min: Math.min(one.min, other.min),
    max: Math.max(one.max, other.max),
    rows: one.rows + other.rows,
  };
}

/** The mean over the time that both ran. */
function weigh(one: KernelRow, other: KernelRow, valueOf: (row: KernelRow) => number): number {
  const [a, b] = [valueOf(one), valueOf(other)];
  if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) ? b : a;
  return (a * one.total + b * other.total) / (one.total + other.total || 1);
}

/** How well the device is used, over the time that kernels ran. */
export interface Summary {
  readonly total: number;
  readonly eligible: number;
  /** Time on tensor cores, and where nobody knows, of the kernels that could use them. */
  readonly tensor: number;
  readonly unknown: number;
  readonly occupancy: number;
  readonly fill: number;
}

export function sumUp(answer: KernelsAnswer, perStep: boolean): Summary {
  const steps = perStep ? Math.max(answer.steps, 1) : 1;
  const rows = answer.names.map((_, at) => readRow(answer, at, steps));
  const products = rows.filter(({ eligible, tensor }) => eligible || tensor === YES);
  return {
    total: sum(rows),
    eligible: sum(products),
    tensor: sum(products.filter(({ tensor }) => tensor === YES)),
    unknown: sum(products.filter(({ tensor }) => tensor === UNKNOWN)),
    occupancy: mean(rows, ({ occupancy }) => occupancy),
    fill: mean(rows, ({ fill }) => fill),
  };
}

function sum(rows: readonly KernelRow[]): number {
  return rows.reduce((sum, { total }) => sum + total, 0);
}

function mean(rows: readonly KernelRow[], valueOf: (row: KernelRow) => number): number {
  const known = rows.filter((row) => !Number.isNaN(valueOf(row)));
  return known.reduce((sum, row) => sum + valueOf(row) * row.total, 0) / sum(known);
}
