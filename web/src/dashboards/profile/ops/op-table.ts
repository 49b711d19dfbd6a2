import type { TableColumn } from '../../../components/data-table';
import { formatCount } from '../../../lib/format';
import { formatMs, formatPercent } from '../display';
import type { OpsResponse } from '../schemas';

/** What was measured of an op in one capture. */
export interface OpTotals {
  readonly count: number;
  readonly total: number;
  readonly self: number;
  readonly longestEvent: number;
}

/** An op, or all ops of a type, in the capture and in the one that it is compared with. */
export interface OpTableRow {
  readonly name: string;
  readonly type: string;
  readonly side: number;
  /** How many ops are in it, where it is all of a type. */
  readonly opCount: number;
  readonly current: OpTotals;
  readonly baseline: OpTotals | null;
}

export type OpGrouping = 'type' | 'op';

const ZERO_TOTALS: OpTotals = { count: 0, total: 0, self: 0, longestEvent: -1 };

/** The ops of one side; those that only the other capture has took no time here. */
export function makeOpRows(
  one: OpsResponse,
  other: OpsResponse | null,
  side: number,
  grouping: OpGrouping,
  perStep: boolean,
): OpTableRow[] {
  const now = groupOps(one, side, grouping, perStep);
  const before = other && groupOps(other, side, grouping, perStep);
  const keys = new Set([...now.keys(), ...(before?.keys() ?? [])]);
  return Array.from(keys, (key) => {
    const known = now.get(key) ?? before?.get(key);
    return {
      name: known?.name ?? '',
      type: known?.type ?? '',
      side,
      opCount: known?.opCount ?? 0,
      current: now.get(key)?.totals ?? ZERO_TOTALS,
      baseline: before && (before.get(key)?.totals ?? ZERO_TOTALS),
    };
  });
}

interface OpGroup {
  readonly name: string;
  readonly type: string;
  opCount: number;
  totals: OpTotals;
}

function groupOps(
  answer: OpsResponse,
  side: number,
  grouping: OpGrouping,
  perStep: boolean,
): Map<string, OpGroup> {
  const steps = perStep ? Math.max(answer.steps, 1) : 1;
  const sums = new Map<string, OpGroup>();
  answer.names.forEach((name, at) => {
    if (answer.sides[at] !== side) return;
    const type = answer.types[at] ?? '';
    const key = grouping === 'type' ? type || name : `${type}\n${name}`;
    const known = sums.get(key);
    const own = readTotals(answer, at, steps);
    if (known) {
      known.opCount += 1;
      known.totals = addTotals(known.totals, own);
    } else {
      sums.set(key, { name: grouping === 'type' ? key : name, type, opCount: 1, totals: own });
    }
  });
  return sums;
}

function readTotals(answer: OpsResponse, at: number, steps: number): OpTotals {
  return {
    count: (answer.counts[at] ?? 0) / steps,
    total: (answer.total_ms[at] ?? 0) / steps,
    self: (answer.self_ms[at] ?? 0) / steps,
    longestEvent: answer.longest[at] ?? -1,
  };
}

/** Ops come with those that took longest by themselves first, so the first one's event stays. */
function addTotals(one: OpTotals, other: OpTotals): OpTotals {
  return {
    count: one.count + other.count,
    total: one.total + other.total,
    self: one.self + other.self,
    longestEvent: one.longestEvent,
  };
}

/** The sides on which anything ran, in the one capture or the other. */
export function listOpSides(one: OpsResponse, other: OpsResponse | null): number[] {
  const met = new Set([...one.sides, ...(other?.sides ?? [])]);
  return [0, 1, 2].filter((side) => met.has(side));
}

/** The columns of ops; with another capture, how their times have changed. */
export function makeOpColumns(
  rows: readonly OpTableRow[],
  total: number,
  grouping: OpGrouping,
  compares: boolean,
  colour = 'var(--accent)',
): TableColumn<OpTableRow>[] {
  const longest = rows.reduce((most, { current }) => Math.max(most, current.self), 0);
  const share = ({ current }: OpTableRow): number => current.self / (total || 1);
  return [
    {
      key: 'name',
      title: grouping === 'type' ? 'Type' : 'Op',
      width: 220,
      isText: true,
      value: ({ name }) => name,
    },
    ...(grouping === 'op' ? [TYPE_COLUMN] : []),
    COUNT_COLUMN,
    {
      key: 'self',
      title: 'Self time',
      description: 'Without what ran inside of it',
      width: 108,
      value: ({ current }) => current.self,
      text: ({ current }) => formatMs(current.self),
      bar: ({ current }) => current.self / (longest || 1),
      barColor: () => colour,
    },
    {
      key: 'share',
      title: 'Share',
      description: 'Of the self time of all ops',
      width: 76,
      value: share,
      text: (row) => formatPercent(share(row)),
    },
    ...(compares ? [BASELINE_COLUMN, CHANGE_COLUMN] : []),
    {
      key: 'mean',
      title: 'Self, each',
      description: 'Self time of one call',
      width: 92,
      value: getMeanSelfTime,
      text: (row) => formatMs(getMeanSelfTime(row)),
    },
    {
      key: 'total',
      title: 'Total',
      description: 'With all that ran inside of it',
      width: 88,
      value: ({ current }) => current.total,
      text: ({ current }) => formatMs(current.total),
    },
  ];
}

const TYPE_COLUMN: TableColumn<OpTableRow> = {
  key: 'type',
  title: 'Type',
  width: 150,
  isText: true,
  value: ({ type }) => type,
  text: ({ type }) => type,
};

const COUNT_COLUMN: TableColumn<OpTableRow> = {
  key: 'count',
  title: 'Times',
  description: 'How often it was called; a call that launches several kernels counts once',
  width: 72,
  value: ({ current }) => current.count,
  text: ({ current }) => formatCount(Math.round(current.count * 10) / 10),
};

const BASELINE_COLUMN: TableColumn<OpTableRow> = {
  key: 'before',
  title: 'Before',
  description: 'Self time in the other capture',
  width: 88,
  value: ({ baseline }) => baseline?.self ?? null,
  text: ({ baseline }) => (baseline ? formatMs(baseline.self) : ''),
};

const CHANGE_COLUMN: TableColumn<OpTableRow> = {
  key: 'change',
  title: 'Change',
  description: 'How much more or less self time than in the other capture',
  width: 136,
  value: ({ current, baseline }) => (baseline ? current.self - baseline.self : null),
};

function getMeanSelfTime({ current }: OpTableRow): number {
  return current.count > 0 ? current.self / current.count : NaN;
}
