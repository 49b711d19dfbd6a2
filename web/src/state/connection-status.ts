import type { LoadStatus } from '../api/schemas';
import * as common from '../catalog/common';
import * as m from '../catalog/shell';
import { formatAgo, formatDateTime, formatProgress, formatTimeOrDate } from '../lib/format';

/** What the top bar shows about the connection to the server. */
export interface ConnectionStatus {
  readonly kind: 'static' | 'connecting' | 'loading' | 'live' | 'idle' | 'paused' | 'lost';
  readonly label: string;
  readonly detail: string;
  readonly tooltip: string;
  /** From 0 to 1 while a log is loaded. */
  readonly progress: number | null;
}

export interface ConnectionInput {
  readonly connection: 'connecting' | 'open' | 'lost';
  readonly status: LoadStatus | null;
  readonly paused: boolean;
  /** Time of the last change in ms, by the clock of the page. */
  readonly changedAt: number | null;
  readonly lastPoint: Date | null;
  readonly now: number;
  /** When the static export was made; null if there is a server. */
  readonly exportedAt: Date | null;
}

/** A log without new points for this long is idle. */
const IDLE_AFTER_S = 60;

const EMPTY = { detail: '', tooltip: '', progress: null };

export function connectionStatus(input: ConnectionInput): ConnectionStatus {
  if (input.exportedAt) return describeExport(input.exportedAt, input.now);
  if (input.connection === 'lost') {
    return {
      kind: 'lost',
      label: common.errorNetworkMessage,
      detail: m.connectionLostDetail,
      tooltip: m.connectionLostTooltip,
      progress: null,
    };
  }
  if (!input.status) return { ...EMPTY, kind: 'connecting', label: m.connectionConnectingLabel };
  if (input.paused) {
    const tooltip = m.connectionPausedTooltip;
    return { ...EMPTY, kind: 'paused', label: m.connectionPausedLabel, tooltip };
  }
  return input.status.loading ? describeLoading(input.status) : describeActivity(input);
}

function describeExport(exportedAt: Date, now: number): ConnectionStatus {
  return {
    kind: 'static',
    label: m.connectionStaticLabel,
    detail: m.connectionStaticDetail({ time: formatTimeOrDate(exportedAt, new Date(now)) }),
    tooltip: m.connectionStaticTooltip({ time: formatDateTime(exportedAt) }),
    progress: null,
  };
}

function describeLoading({ progress }: LoadStatus): ConnectionStatus {
  const { files_done, files_total, bytes_done, bytes_total } = progress;
  const files = m.connectionLoadingFiles({ done: files_done, total: files_total });
  const bytes = formatProgress(bytes_done, bytes_total);
  return {
    kind: 'loading',
    label: common.loading,
    detail: bytes_total > 0 ? m.connectionLoadingDetail({ files, bytes }) : '',
    tooltip: files_total > 0 ? m.connectionLoadingTooltip({ files, bytes }) : common.scanningLogs,
    progress: bytes_total > 0 ? bytes_done / bytes_total : 0,
  };
}

function describeActivity({ changedAt, lastPoint, now }: ConnectionInput): ConnectionStatus {
  // The clock of a writer may be ahead of this one.
  const latest = Math.min(now, Math.max(changedAt ?? -Infinity, lastPoint?.getTime() ?? -Infinity));
  if (latest === -Infinity) {
    const tooltip = m.connectionLiveWaiting;
    return {
      ...EMPTY,
      kind: 'live',
      label: m.connectionLiveLabel,
      detail: m.connectionLiveEmpty,
      tooltip,
    };
  }
  const time = new Date(latest);
  const tooltip = m.connectionLiveTooltip({ time: formatDateTime(time) });
  const age_s = (now - latest) / 1000;
  if (age_s < IDLE_AFTER_S)
    return {
      ...EMPTY,
      kind: 'live',
      label: m.connectionLiveLabel,
      detail: formatAgo(age_s),
      tooltip,
    };
  const detail = m.connectionIdleDetail({ time: formatTimeOrDate(time, new Date(now)) });
  return { ...EMPTY, kind: 'idle', label: m.connectionIdleLabel, detail, tooltip };
}
