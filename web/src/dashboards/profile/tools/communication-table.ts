import type { CommunicationResponse, RankRow } from '../../../api/schemas';
import * as common from '../../../catalog/common';
import * as m from '../../../catalog/profile';
import type { TableColumn } from '../../../components/data-table';
import { RUN_COLORS } from '../../../lib/colors';
import { formatBytes, formatCount } from '../../../lib/format';
import { formatBandwidth, formatMs } from '../display';

const [BLUE = '', ORANGE = '', GREEN = '', PINK = '', TEAL = '', RED = '', PURPLE = ''] =
  RUN_COLORS;
const GRAY = '#8e8e9c';
const MS_PER_S = 1000;

const KIND_STYLES: Readonly<Record<string, { readonly label: string; readonly color: string }>> = {
  all_reduce: { label: m.communicationKindAllReduce, color: BLUE },
  all_gather: { label: m.communicationKindAllGather, color: GREEN },
  reduce_scatter: { label: m.communicationKindReduceScatter, color: ORANGE },
  all_to_all: { label: m.communicationKindAllToAll, color: PURPLE },
  broadcast: { label: m.communicationKindBroadcast, color: TEAL },
  reduce: { label: m.communicationKindReduce, color: RED },
  send_recv: { label: m.communicationKindSendRecv, color: PINK },
};

export function getKindStyle(kind: string): { readonly label: string; readonly color: string } {
  return KIND_STYLES[kind] ?? { label: common.other, color: GRAY };
}

/** Collectives of the same kind, size, group and algorithm. */
export interface CollectiveRow {
  readonly kind: string;
  readonly groupSize: number;
  readonly bytes: number;
  readonly algorithm: string;
  readonly count: number;
  readonly total: number;
  readonly exposed: number;
  readonly bandwidth: number;
  readonly bus: number;
  readonly best: number;
  readonly event: number;
}

export function makeCollectiveRows(response: CommunicationResponse): CollectiveRow[] {
  return response.kinds.map((kind, index) => ({
    kind,
    groupSize: response.group_sizes[index] ?? 0,
    bytes: response.bytes[index] ?? NaN,
    algorithm: [response.algorithms[index], response.protocols[index]].filter(Boolean).join(' '),
    count: response.counts[index] ?? 0,
    total: response.total_ms[index] ?? 0,
    exposed: response.exposed_ms[index] ?? 0,
    bandwidth: response.algorithm_bandwidths[index] ?? NaN,
    bus: response.bus_bandwidths[index] ?? NaN,
    best: response.best_bus_bandwidths[index] ?? NaN,
    event: response.longest[index] ?? -1,
  }));
}

export function makeCollectiveColumns(
  rows: readonly CollectiveRow[],
): TableColumn<CollectiveRow>[] {
  const longest = rows.reduce((max, { total }) => Math.max(max, total), 0);
  return [
    {
      key: 'kind',
      title: m.communicationColumnCollective,
      width: 150,
      isText: true,
      value: ({ kind }) => getKindStyle(kind).label,
    },
    {
      key: 'size',
      title: m.communicationColumnSize,
      width: 90,
      value: ({ bytes }) => bytes,
      text: ({ bytes }) => (Number.isNaN(bytes) ? common.unknown : formatBytes(bytes)),
    },
    {
      key: 'ranks',
      title: m.communicationColumnGroup,
      width: 62,
      value: ({ groupSize }) => groupSize,
      text: ({ groupSize }) => (groupSize > 0 ? formatCount(groupSize) : common.unknown),
    },
    {
      key: 'algorithm',
      title: m.communicationColumnAlgorithm,
      description: m.communicationColumnAlgorithmHint,
      width: 110,
      isText: true,
      value: ({ algorithm }) => algorithm,
      text: ({ algorithm }) => algorithm,
    },
    {
      key: 'count',
      title: common.count,
      width: 66,
      value: ({ count }) => count,
      text: ({ count }) => formatCount(count),
    },
    {
      key: 'total',
      title: m.columnTotal,
      width: 100,
      value: ({ total }) => total,
      text: ({ total }) => formatMs(total),
      bar: ({ total }) => total / (longest || 1),
      barColor: ({ kind }) => getKindStyle(kind).color,
    },
    {
      key: 'exposed',
      title: m.communicationColumnExposed,
      description: m.communicationColumnExposedHint,
      width: 90,
      value: ({ exposed }) => exposed,
      text: ({ exposed }) => formatMs(exposed),
    },
    makeBandwidthColumn(
      'algbw',
      m.communicationColumnBandwidth,
      m.communicationColumnBandwidthHint,
      (row) => row.bandwidth,
    ),
    makeBandwidthColumn('busbw', m.communicationBus, m.communicationBusHint, (row) => row.bus),
    makeBandwidthColumn('best', m.communicationBest, m.communicationBestHint, (row) => row.best),
  ];
}

function makeBandwidthColumn(
  key: string,
  title: string,
  description: string,
  value: (row: CollectiveRow) => number,
): TableColumn<CollectiveRow> {
  const text = (row: CollectiveRow): string =>
    Number.isNaN(value(row)) ? common.unknown : formatBandwidth(value(row), MS_PER_S);
  return { key, title, description, width: 118, value, text };
}

export function makeRankColumns(rows: readonly RankRow[]): TableColumn<RankRow>[] {
  const longest = rows.reduce((max, row) => Math.max(max, row.total_wait_ms), 0);
  return [
    {
      key: 'rank',
      title: m.communicationColumnRank,
      width: 70,
      isText: true,
      value: ({ rank }) => rank,
      text: ({ rank, host }) => (host ? `${rank} (${host})` : String(rank)),
    },
    {
      key: 'wait',
      title: m.communicationColumnWait,
      description: m.communicationColumnWaitHint,
      width: 100,
      value: (row) => row.total_wait_ms,
      text: (row) => formatMs(row.total_wait_ms),
      bar: (row) => row.total_wait_ms / (longest || 1),
    },
    {
      key: 'transfer',
      title: m.communicationColumnTransfer,
      width: 90,
      value: (row) => row.transfer_ms,
      text: (row) => formatMs(row.transfer_ms),
    },
    {
      key: 'exposed',
      title: m.communicationColumnExposed,
      description: m.communicationColumnExposedHint,
      width: 90,
      value: (row) => row.exposed_ms,
      text: (row) => formatMs(row.exposed_ms),
    },
    {
      key: 'last',
      title: m.communicationColumnLast,
      description: m.communicationColumnLastHint,
      width: 90,
      value: (row) => row.last_count,
      text: (row) => formatCount(row.last_count),
    },
    {
      key: 'offset',
      title: m.communicationColumnOffset,
      width: 100,
      value: (row) => row.offset_ms,
      text: (row) => formatMs(row.offset_ms),
    },
  ];
}
