import type { LoadStatus } from '../api/schemas';
import {
  formatAgo,
  formatTimeOrDate,
  formatInteger,
  formatDateTime,
  formatProgress,
} from '../lib/format';

/** What the live mark says. */
export interface ConnectionStatus {
  readonly kind: 'copy' | 'connecting' | 'loading' | 'live' | 'idle' | 'paused' | 'lost';
  readonly label: string;
  readonly detail: string;
  readonly tooltip: string;
  /** From 0 to 1 while a log is being read. */
  readonly progress: number | null;
}

export interface ConnectionInput {
  readonly connection: 'connecting' | 'open' | 'lost';
  readonly status: LoadStatus | null;
  readonly paused: boolean;
  /** In milliseconds, by the clock of this page. */
  readonly changedAt: number | null;
  readonly lastPoint: Date | null;
  readonly now: number;
  /** When this copy of a board was made; null where there is a server. */
  readonly exportedAt: Date | null;
}

/** A log to which nothing was written for so long is idle. */
const IDLE_AFTER_S = 60;

export function connectionStatus(signs: ConnectionInput): ConnectionStatus {
  if (signs.exportedAt) return describeExport(signs.exportedAt, signs.now);
  if (signs.connection === 'lost') {
    const hover = 'The server does not answer. What is shown is what was last known.';
    return {
      kind: 'lost',
      label: 'Connection lost',
      detail: 'trying again',
      tooltip: hover,
      progress: null,
    };
  }
  if (!signs.status) {
    return { kind: 'connecting', label: 'Connecting', detail: '', tooltip: '', progress: null };
  }
  if (signs.paused) {
    const hover =
      'The picture stands still. Nothing is lost: going on shows all that came meanwhile.';
    return { kind: 'paused', label: 'Paused', detail: '', tooltip: hover, progress: null };
  }
  return signs.status.loading ? describeLoading(signs.status) : describeActivity(signs);
}

function describeExport(made: Date, now: number): ConnectionStatus {
  const hover = `A copy of the board, made ${formatDateTime(made)}. What was logged since is not here.`;
  const detail = `made ${formatTimeOrDate(made, new Date(now))}`;
  return { kind: 'copy', label: 'Copy', detail, tooltip: hover, progress: null };
}

function describeLoading({ progress }: LoadStatus): ConnectionStatus {
  const { files_done, files_total, bytes_done, bytes_total } = progress;
  const files = `${formatInteger(files_done)} of ${formatInteger(files_total)} files`;
  const bytes = formatProgress(bytes_done, bytes_total);
  return {
    kind: 'loading',
    label: 'Loading',
    detail: bytes_total > 0 ? `${files}, ${bytes}` : '',
    tooltip: files_total > 0 ? `${files} read, ${bytes}` : 'Looking for event files',
    progress: bytes_total > 0 ? bytes_done / bytes_total : 0,
  };
}

function describeActivity({ changedAt, lastPoint, now }: ConnectionInput): ConnectionStatus {
  // A writer whose clock is ahead of ours must not have logged in the future.
  const latest = Math.min(now, Math.max(changedAt ?? -Infinity, lastPoint?.getTime() ?? -Infinity));
  if (latest === -Infinity) {
    const hover = 'Waiting for the first point.';
    return { kind: 'live', label: 'Live', detail: 'no points yet', tooltip: hover, progress: null };
  }
  const at = new Date(latest);
  const hover = `Last point ${formatDateTime(at)}`;
  const ago_s = (now - latest) / 1000;
  if (ago_s < IDLE_AFTER_S) {
    return {
      kind: 'live',
      label: 'Live',
      detail: formatAgo(ago_s),
      tooltip: hover,
      progress: null,
    };
  }
  const detail = `since ${formatTimeOrDate(at, new Date(now))}`;
  return { kind: 'idle', label: 'Idle', detail, tooltip: hover, progress: null };
}
