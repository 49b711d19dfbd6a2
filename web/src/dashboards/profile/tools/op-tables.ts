import type {
  OperatorGrouping,
  OperatorKind,
  OperatorsResponse,
  OpsResponse,
} from '../../../api/schemas';
import * as common from '../../../catalog/common';
import * as m from '../../../catalog/profile';
import type { TableColumn } from '../../../components/data-table';
import { formatCount } from '../../../lib/format';
import { DEVICE_COLOR, formatMs, formatPercent, HOST_COLOR } from '../display';

// ---- Rows

/** The calls of an op, or of all ops of a type, in one capture. */
interface OpTotals {
  readonly count: number;
  readonly total: number;
  readonly self: number;
  readonly longestEvent: number;
}

/** An op, or all ops of a type, in the current and the baseline capture. */
export interface OpTableRow {
  readonly name: string;
  readonly type: string;
  readonly side: number;
  /** Number of ops of the type. */
  readonly opCount: number;
  readonly current: OpTotals;
  readonly baseline: OpTotals | null;
}

export type OpGrouping = 'type' | 'op';

const ZERO_TOTALS: OpTotals = { count: 0, total: 0, self: 0, longestEvent: -1 };

/** Return the ops of one side. Ops that only the baseline has are included with zero time. */
export function makeOpRows(
  current: OpsResponse,
  baseline: OpsResponse | null,
  side: number,
  grouping: OpGrouping,
  perStep: boolean,
): OpTableRow[] {
  const groups = groupOps(current, side, grouping, perStep);
  const baselineGroups = baseline && groupOps(baseline, side, grouping, perStep);
  const keys = new Set([...groups.keys(), ...(baselineGroups?.keys() ?? [])]);
  return Array.from(keys, (key) => {
    const known = groups.get(key) ?? baselineGroups?.get(key);
    return {
      name: known?.name ?? '',
      type: known?.type ?? '',
      side,
      opCount: known?.opCount ?? 0,
      current: groups.get(key)?.totals ?? ZERO_TOTALS,
      baseline: baselineGroups && (baselineGroups.get(key)?.totals ?? ZERO_TOTALS),
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
  response: OpsResponse,
  side: number,
  grouping: OpGrouping,
  perStep: boolean,
): Map<string, OpGroup> {
  const steps = perStep ? Math.max(response.steps, 1) : 1;
  const groups = new Map<string, OpGroup>();
  response.names.forEach((name, index) => {
    if (response.sides[index] !== side) return;
    const type = response.types[index] ?? '';
    const key = grouping === 'type' ? type || name : `${type}\n${name}`;
    const known = groups.get(key);
    const own = readTotals(response, index, steps);
    if (known) {
      known.opCount += 1;
      known.totals = addTotals(known.totals, own);
    } else {
      groups.set(key, { name: grouping === 'type' ? key : name, type, opCount: 1, totals: own });
    }
  });
  return groups;
}

function readTotals(response: OpsResponse, index: number, steps: number): OpTotals {
  return {
    count: (response.counts[index] ?? 0) / steps,
    total: (response.total_ms[index] ?? 0) / steps,
    self: (response.self_ms[index] ?? 0) / steps,
    longestEvent: response.longest[index] ?? -1,
  };
}

/** Ops are sorted by self time, so the event of the first one is kept. */
function addTotals(first: OpTotals, second: OpTotals): OpTotals {
  return {
    count: first.count + second.count,
    total: first.total + second.total,
    self: first.self + second.self,
    longestEvent: first.longestEvent,
  };
}

/** Values of `OpsResponse.sides`, in the URL by name. */
export const OP_SIDES = [
  { value: 'host', label: m.sideHost },
  { value: 'device', label: common.device },
  { value: 'python', label: common.exportFormatPython },
] as const;
export const DEVICE_SIDE = 1;

/** Return the sides on which ops ran in either capture. */
export function listOpSides(current: OpsResponse, baseline: OpsResponse | null): number[] {
  const used = new Set([...current.sides, ...(baseline?.sides ?? [])]);
  return [...OP_SIDES.keys()].filter((side) => used.has(side));
}

// ---- Columns

export function makeOpColumns(
  rows: readonly OpTableRow[],
  total: number,
  grouping: OpGrouping,
  hasBaseline: boolean,
  color = 'var(--accent)',
): TableColumn<OpTableRow>[] {
  const longest = rows.reduce((max, { current }) => Math.max(max, current.self), 0);
  const share = ({ current }: OpTableRow): number => current.self / (total || 1);
  return [
    {
      key: 'name',
      title: grouping === 'type' ? common.type : m.columnOp,
      width: 220,
      isText: true,
      value: ({ name }) => name,
    },
    ...(grouping === 'op' ? [TYPE_COLUMN] : []),
    COUNT_COLUMN,
    {
      key: 'self',
      title: m.eventSelfLabel,
      description: m.columnSelfTimeHint,
      width: 108,
      value: ({ current }) => current.self,
      text: ({ current }) => formatMs(current.self),
      bar: ({ current }) => current.self / (longest || 1),
      barColor: () => color,
    },
    {
      key: 'share',
      title: m.columnShare,
      description: m.opsColumnShareHint,
      width: 76,
      value: share,
      text: (row) => formatPercent(share(row)),
    },
    ...(hasBaseline ? [BASELINE_COLUMN, CHANGE_COLUMN] : []),
    {
      key: 'mean',
      title: m.opsColumnMeanLabel,
      description: m.opsColumnMeanHint,
      width: 92,
      value: getMeanSelfTime,
      text: (row) => formatMs(getMeanSelfTime(row)),
    },
    {
      key: 'total',
      title: m.columnTotalTimeLabel,
      description: m.columnTotalTimeHint,
      width: 88,
      value: ({ current }) => current.total,
      text: ({ current }) => formatMs(current.total),
    },
  ];
}

const TYPE_COLUMN: TableColumn<OpTableRow> = {
  key: 'type',
  title: common.type,
  width: 150,
  isText: true,
  value: ({ type }) => type,
  text: ({ type }) => type,
};

const COUNT_COLUMN: TableColumn<OpTableRow> = {
  key: 'count',
  title: m.columnCalls,
  description: m.opsColumnCallsHint,
  width: 72,
  value: ({ current }) => current.count,
  text: ({ current }) => formatCount(Math.round(current.count * 10) / 10),
};

const BASELINE_COLUMN: TableColumn<OpTableRow> = {
  key: 'before',
  title: common.baseline,
  description: m.opsColumnBaselineHint,
  width: 88,
  value: ({ baseline }) => baseline?.self ?? null,
  text: ({ baseline }) => (baseline ? formatMs(baseline.self) : ''),
};

const CHANGE_COLUMN: TableColumn<OpTableRow> = {
  key: 'change',
  title: common.change,
  description: m.opsColumnChangeHint,
  width: 136,
  value: ({ current, baseline }) => (baseline ? current.self - baseline.self : null),
};

function getMeanSelfTime({ current }: OpTableRow): number {
  return current.count > 0 ? current.self / current.count : NaN;
}

// ---- Donut chart

/** A slice of a donut chart. */
export interface Slice {
  readonly name: string;
  readonly value: number;
}

/** A slice with its path. */
interface DonutSlice extends Slice {
  readonly share: number;
  readonly path: string;
  /** All smaller slices together. */
  readonly isOther: boolean;
}

const MAX_SLICES = 8;
const [OUTER, INNER] = [48, 30];

/** Lay out the largest slices, and one for all others; the radius is 48. */
export function layoutDonut(slices: readonly Slice[]): {
  readonly slices: readonly DonutSlice[];
  readonly total: number;
} {
  const sorted = slices.filter(({ value }) => value > 0).sort((a, b) => b.value - a.value);
  const total = sum(sorted);
  const count = sorted.length > MAX_SLICES ? MAX_SLICES - 1 : MAX_SLICES;
  const rest = sum(sorted.slice(count));
  const named = sorted.slice(0, count).map((slice) => ({ ...slice, isOther: false }));
  const all = rest > 0 ? [...named, { name: common.other, value: rest, isOther: true }] : named;
  let from = 0;
  const drawn = all.map((slice) => {
    const share = slice.value / (total || 1);
    const path = makeArcPath(from, (from += share));
    return { ...slice, share, path };
  });
  return { slices: drawn, total };
}

function sum(slices: readonly Slice[]): number {
  return slices.reduce((sum, { value }) => sum + value, 0);
}

/** Return the path between two fractions of a turn, from the top. */
function makeArcPath(from: number, to: number): string {
  // An arc that ends where it begins is not drawn.
  const end = Math.min(to, from + 0.99999);
  const large = end - from > 0.5 ? 1 : 0;
  const [a, b, c, d] = [
    formatPoint(OUTER, from),
    formatPoint(OUTER, end),
    formatPoint(INNER, end),
    formatPoint(INNER, from),
  ];
  return `M${a}A${OUTER} ${OUTER} 0 ${large} 1 ${b}L${c}A${INNER} ${INNER} 0 ${large} 0 ${d}Z`;
}

function formatPoint(radius: number, turn: number): string {
  const angle = 2 * Math.PI * turn;
  return `${(radius * Math.sin(angle)).toFixed(3)} ${(-radius * Math.cos(angle)).toFixed(3)}`;
}

/** Times of an operator in one capture, in milliseconds. */
interface OperatorTimes {
  readonly count: number;
  readonly hostSelf: number;
  readonly hostTotal: number;
  readonly deviceSelf: number;
  readonly deviceTotal: number;
  readonly longestEvent: number;
}

/** An operator, or an operator with some shapes or stack, or a module. */
export interface OperatorRow {
  readonly name: string;
  readonly group: string;
  readonly kind: OperatorKind;
  readonly depth: number;
  readonly current: OperatorTimes;
  readonly baseline: OperatorTimes | null;
}

const ZERO_TIMES: OperatorTimes = {
  count: 0,
  hostSelf: 0,
  hostTotal: 0,
  deviceSelf: 0,
  deviceTotal: 0,
  longestEvent: -1,
};

/** Return the rows of a capture. Those that only the baseline has are included with zero time. */
export function makeOperatorRows(
  current: OperatorsResponse,
  baseline: OperatorsResponse | null,
  perStep: boolean,
): OperatorRow[] {
  const rows = listRows(current, perStep);
  if (!baseline) return rows.map(({ row }) => row);
  const before = new Map(listRows(baseline, perStep).map(({ key, row }) => [key, row]));
  const compared = rows.map(({ key, row }) => {
    const other = before.get(key);
    before.delete(key);
    return { ...row, baseline: other?.current ?? ZERO_TIMES };
  });
  const gone = [...before.values()].map((row) => ({
    ...row,
    current: ZERO_TIMES,
    baseline: row.current,
  }));
  return [...compared, ...gone];
}

function listRows(
  response: OperatorsResponse,
  perStep: boolean,
): { readonly key: string; readonly row: OperatorRow }[] {
  const steps = perStep ? Math.max(response.steps, 1) : 1;
  // The path of a module: two modules of one name may be in different places.
  const path: string[] = [];
  return response.names.map((name, index) => {
    const depth = response.depths[index] ?? 0;
    const group = response.groups[index] ?? '';
    const kind = response.kinds[index] ?? 'op';
    path.length = depth;
    path.push(name);
    const current = {
      count: (response.counts[index] ?? 0) / steps,
      hostSelf: (response.host_self_ms[index] ?? 0) / steps,
      hostTotal: (response.host_total_ms[index] ?? 0) / steps,
      deviceSelf: (response.device_self_ms[index] ?? 0) / steps,
      deviceTotal: (response.device_total_ms[index] ?? 0) / steps,
      longestEvent: response.longest[index] ?? -1,
    };
    const key = JSON.stringify([path, group, kind]);
    return { key, row: { name, group, kind, depth, current, baseline: null } };
  });
}

/** Return a stack with its innermost frame first, on one line. */
export function formatStack(group: string): string {
  return group.split('\n').join(' ← ');
}

/** Return the columns. Modules cannot be sorted, as they form a tree. */
export function makeOperatorColumns(
  rows: readonly OperatorRow[],
  grouping: OperatorGrouping,
  hasBaseline: boolean,
): TableColumn<OperatorRow>[] {
  const isTree = grouping === 'module';
  const total = rows.reduce((sum, { current }) => sum + current.deviceSelf, 0);
  const hasDevice = total > 0;
  const makeTimeColumn = (
    key: 'hostSelf' | 'hostTotal' | 'deviceSelf' | 'deviceTotal',
    title: string,
    description: string,
    color: string,
  ): TableColumn<OperatorRow> => {
    const longest = rows.reduce((max, { current }) => Math.max(max, current[key]), 0);
    return {
      key,
      title,
      description,
      width: 100,
      ...(isTree ? {} : { value: ({ current }: OperatorRow) => current[key] }),
      text: ({ current }) => formatMs(current[key]),
      bar: ({ current }) => current[key] / (longest || 1),
      barColor: () => color,
    };
  };
  const columns: (TableColumn<OperatorRow> | null)[] = [
    {
      key: 'name',
      title: isTree ? m.operatorsColumnModule : m.columnOp,
      width: 220,
      isText: true,
      ...(isTree ? {} : { value: ({ name }: OperatorRow) => name }),
    },
    grouping === 'shape' || grouping === 'stack' ? makeGroupColumn(grouping) : null,
    {
      key: 'count',
      title: m.columnCalls,
      width: 68,
      ...(isTree ? {} : { value: ({ current }: OperatorRow) => current.count }),
      text: ({ current }) => formatCount(Math.round(current.count * 10) / 10),
    },
    makeTimeColumn('hostSelf', m.operatorsHostSelf, m.operatorsHostSelfHint, HOST_COLOR),
    makeTimeColumn('hostTotal', m.operatorsHostTotal, m.operatorsHostTotalHint, HOST_COLOR),
    ...(hasDevice
      ? [
          makeTimeColumn(
            'deviceSelf',
            m.operatorsDeviceSelf,
            m.operatorsDeviceSelfHint,
            DEVICE_COLOR,
          ),
          makeTimeColumn(
            'deviceTotal',
            m.operatorsDeviceTotal,
            m.operatorsDeviceTotalHint,
            DEVICE_COLOR,
          ),
          {
            key: 'share',
            title: m.columnShare,
            description: m.operatorsShareHint,
            width: 72,
            text: ({ current }: OperatorRow) => formatPercent(current.deviceSelf / (total || 1)),
          },
        ]
      : []),
    hasBaseline
      ? { key: 'change', title: common.change, description: m.operatorsChangeHint, width: 136 }
      : null,
  ];
  return columns.filter((column) => column !== null);
}

function makeGroupColumn(grouping: 'shape' | 'stack'): TableColumn<OperatorRow> {
  return {
    key: 'group',
    title: grouping === 'shape' ? m.operatorsColumnShapes : m.operatorsColumnStack,
    width: grouping === 'shape' ? 220 : 320,
    isText: true,
    value: ({ group }) => group,
    text: ({ group }) => formatStack(group),
    tooltip: ({ group }) => group,
  };
}
