import type { Status } from '../api/types';
import { formatAgo, formatClock, formatExact, formatMoment, formatProgress } from '../base/format';

/** What the live mark says. */
export interface Pulse {
  readonly kind: 'copy' | 'connecting' | 'loading' | 'live' | 'idle' | 'paused' | 'lost';
  readonly word: string;
  readonly detail: string;
  readonly hover: string;
  /** From 0 to 1 while a log is being read. */
  readonly done: number | null;
}

export interface Signs {
  readonly connection: 'connecting' | 'open' | 'lost';
  readonly status: Status | null;
  readonly paused: boolean;
  /** In milliseconds, by the clock of this page. */
  readonly changedAt: number | null;
  readonly lastPoint: Date | null;
  readonly now: number;
  /** When this copy of a board was made; null where there is a server. */
  readonly copiedAt: Date | null;
}

/** A log to which nothing was written for so long is idle. */
const IDLE_AFTER_S = 60;

export function takePulse(signs: Signs): Pulse {
  if (signs.copiedAt) return copy(signs.copiedAt, signs.now);
  if (signs.connection === 'lost') {
    const hover = 'The server does not answer. What is shown is what was last known.';
    return { kind: 'lost', word: 'Connection lost', detail: 'trying again', hover, done: null };
  }
  if (!signs.status) {
    return { kind: 'connecting', word: 'Connecting', detail: '', hover: '', done: null };
  }
  if (signs.paused) {
    const hover =
      'The picture stands still. Nothing is lost: going on shows all that came meanwhile.';
    return { kind: 'paused', word: 'Paused', detail: '', hover, done: null };
  }
  return signs.status.loading ? loading(signs.status) : liveOrIdle(signs);
}

function copy(made: Date, now: number): Pulse {
  const hover = `A copy of the board, made ${formatMoment(made)}. What was logged since is not here.`;
  const detail = `made ${formatClock(made, new Date(now))}`;
  return { kind: 'copy', word: 'Copy', detail, hover, done: null };
}

function loading({ progress }: Status): Pulse {
  const { files_done, files_total, bytes_done, bytes_total } = progress;
  const files = `${formatExact(files_done)} of ${formatExact(files_total)} files`;
  const bytes = formatProgress(bytes_done, bytes_total);
  return {
    kind: 'loading',
    word: 'Loading',
    detail: bytes_total > 0 ? `${files}, ${bytes}` : '',
    hover: files_total > 0 ? `${files} read, ${bytes}` : 'Looking for event files',
    done: bytes_total > 0 ? bytes_done / bytes_total : 0,
  };
}

function liveOrIdle({ changedAt, lastPoint, now }: Signs): Pulse {
  // A writer whose clock is ahead of ours must not have logged in the future.
  const latest = Math.min(now, Math.max(changedAt ?? -Infinity, lastPoint?.getTime() ?? -Infinity));
  if (latest === -Infinity) {
    const hover = 'Waiting for the first point.';
    return { kind: 'live', word: 'Live', detail: 'no points yet', hover, done: null };
  }
  const at = new Date(latest);
  const hover = `Last point ${formatMoment(at)}`;
  const ago_s = (now - latest) / 1000;
  if (ago_s < IDLE_AFTER_S) {
    return { kind: 'live', word: 'Live', detail: formatAgo(ago_s), hover, done: null };
  }
  const detail = `since ${formatClock(at, new Date(now))}`;
  return { kind: 'idle', word: 'Idle', detail, hover, done: null };
}
