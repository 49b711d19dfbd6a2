import type { OperatorGrouping, OperatorKind, OperatorsResponse } from '../../../api/schemas';
import * as common from '../../../catalog/common';
import * as m from '../../../catalog/profile';
import type { TableColumn } from '../../../components/data-table';
import { formatCount } from '../../../lib/format';
import { DEVICE_COLOR, formatMs, formatPercent, HOST_COLOR } from '../display';

/** Times of an operator in one capture, in milliseconds. */
export interface OperatorTimes {
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
