/** Titles, widths and cell texts of the columns of the runs table. */
import type { ColumnListResponse } from '../../api/client';
import type { RunTableColumn } from '../../api/schemas';
import * as common from '../../catalog/common';
import * as m from '../../catalog/run_table';
import type { OptionGroup } from '../../components/options';
import {
  formatAgoOrDate,
  formatBytes,
  formatDateTime,
  formatDuration,
  formatInteger,
  formatValue,
} from '../../lib/format';

export type ColumnKind = RunTableColumn['kind'];
export type CellValue = number | string | boolean | null;

/** In the order in which runs are sorted by state. */
export const STATES = ['running', 'stalled', 'crashed', 'finished', 'inactive'] as const;

export const STATE_LABELS: Readonly<Record<string, string>> = {
  running: m.stateRunning,
  stalled: m.stateStalled,
  crashed: m.stateCrashed,
  finished: m.stateFinished,
  inactive: m.stateInactive,
};

export const STATE_HINTS: Readonly<Record<string, string>> = {
  running: m.stateRunningHint,
  stalled: m.stateStalledHint,
  crashed: m.stateCrashedHint,
  finished: m.stateFinishedHint,
  inactive: m.stateInactiveHint,
};

const PLAIN_TITLES: Readonly<Record<string, string>> = {
  name: common.run,
  state: m.columnState,
  start: common.startTime,
  updated: m.columnUpdated,
  duration: common.duration,
  labels: common.tags,
  note: m.columnNote,
  host: m.columnHost,
  user: m.columnUser,
  commit: m.columnCommit,
  command: m.columnCommand,
  error: m.columnError,
  points: common.points,
  tags: m.columnTagCount,
  bytes: m.columnBytes,
};
/** The plain columns that can be shown besides the name. */
export const PLAIN_KEYS = Object.keys(PLAIN_TITLES).filter((key) => key !== 'name');

const SUMMARY_TITLES: Readonly<Record<string, (tag: string, step: number) => string>> = {
  last: (tag) => tag,
  min: (tag) => m.columnMin({ tag }),
  max: (tag) => m.columnMax({ tag }),
  step: (tag) => m.columnStep({ tag }),
  at: (tag, step) => m.columnAt({ tag, step: formatInteger(step) }),
};

/** The parts of a key: `last:loss`, or `at:1000:loss` with a step. */
interface KeyParts {
  /** Empty for a plain column. */
  readonly kind: string;
  readonly name: string;
  readonly step: number;
}

function splitKey(key: string): KeyParts {
  const at = key.indexOf(':');
  if (at < 0) return { kind: '', name: key, step: 0 };
  const [kind, rest] = [key.slice(0, at), key.slice(at + 1)];
  const [, step = '0', name = rest] = (kind === 'at' ? /^(-?\d+):(.*)$/s.exec(rest) : null) ?? [];
  return { kind, name, step: Number(step) };
}

/** Return the key of a metric: `summary` is `last`, `min`, `max`, `step` or `at:` with a step. */
export function makeMetricKey(summary: string, tag: string): string {
  return `${summary}:${tag}`;
}

/** Whether a column has values of a metric. */
export function isMetricValue(key: string): boolean {
  return ['last', 'min', 'max', 'at'].includes(splitKey(key).kind);
}

export function getColumnTitle(key: string, available: ColumnListResponse): string {
  const { kind, name, step } = splitKey(key);
  if (kind === '') return PLAIN_TITLES[name] ?? name;
  const named = kind === 'at' ? `last:${name}` : key;
  const shown = available.display_names[named] ?? name;
  return SUMMARY_TITLES[kind]?.(shown, step) ?? shown;
}

/** Return the display name of a hyperparameter, or its name. */
export function getHparamTitle(name: string, available: ColumnListResponse): string {
  return getColumnTitle(`hparam:${name}`, available);
}

/** Return the display name of a metric, or its tag. */
export function getMetricTitle(tag: string, available: ColumnListResponse): string {
  return getColumnTitle(`last:${tag}`, available);
}

/** Return the tooltip of a title, with the name that filters use. */
export function getColumnDescription(key: string, available: ColumnListResponse): string {
  const { kind, name, step } = splitKey(key);
  if (kind === 'hparam') return m.columnHparamHint({ name });
  if (kind === 'last') return m.columnLastHint({ tag: name });
  if (kind === 'at') return m.columnAtHint({ tag: name, step: formatInteger(step) });
  if (kind !== '') return SUMMARY_TITLES[kind]?.(name, step) ?? name;
  return getColumnTitle(key, available);
}

const TEXT_KINDS: readonly ColumnKind[] = ['text', 'labels', 'state', 'mixed', 'bool'];

export function isTextKind(kind: ColumnKind): boolean {
  return TEXT_KINDS.includes(kind);
}

const DEFAULT_WIDTHS: Readonly<Record<string, number>> = {
  name: 300,
  state: 104,
  start: 124,
  updated: 124,
  duration: 112,
  labels: 160,
  note: 240,
  commit: 96,
  command: 260,
  error: 220,
};
const [MIN_WIDTH_PX, MAX_WIDTH_PX] = [84, 180];
const CHARACTER_PX = 8;
const PADDING_PX = 44;

export function getDefaultWidth(key: string, title: string): number {
  const width = title.length * CHARACTER_PX + PADDING_PX;
  return DEFAULT_WIDTHS[key] ?? Math.min(MAX_WIDTH_PX, Math.max(MIN_WIDTH_PX, width));
}

export interface CellText {
  readonly text: string;
  /** The full text or exact value. */
  readonly title: string;
}

const EMPTY: CellText = { text: '', title: '' };
const SHORT_COMMIT = 8;

/** Return the text of a cell. */
export function formatCell(key: string, kind: ColumnKind, value: CellValue, now: Date): CellText {
  if (value === null) return EMPTY;
  // An empty text is a value; a missing one is not.
  if (value === '') return { text: m.emptyValue, title: m.emptyValue };
  if (kind === 'state') {
    const state = String(value);
    return { text: STATE_LABELS[state] ?? state, title: STATE_HINTS[state] ?? '' };
  }
  if (key === 'commit') return formatCommit(String(value));
  const number = typeof value === 'boolean' ? null : toNumber(kind, value);
  if (number === null) return { text: String(value), title: String(value) };
  switch (kind) {
    case 'time':
      return formatTime(new Date(number * 1000), now);
    case 'duration':
      return {
        text: formatDuration(number),
        title: common.seconds({ seconds: number.toFixed(1) }),
      };
    case 'bytes':
      return { text: formatBytes(number), title: formatInteger(number) };
    default:
      if (/^(points|tags)$|^step:/.test(key) && Number.isInteger(number))
        return { text: formatInteger(number), title: String(number) };
      return { text: formatValue(number), title: String(number) };
  }
}

/** Numbers that JSON does not have are sent as text; other texts stay texts. */
function toNumber(kind: ColumnKind, value: number | string): number | null {
  if (typeof value === 'number') return value;
  return isTextKind(kind) ? null : Number(value);
}

function formatCommit(commit: string): CellText {
  const mark = commit.endsWith('+') ? '+' : '';
  return { text: commit.slice(0, SHORT_COMMIT) + mark, title: commit };
}

function formatTime(time: Date, now: Date): CellText {
  if (Number.isNaN(time.getTime())) return EMPTY;
  return { text: formatAgoOrDate(time, now), title: formatDateTime(time) };
}

/** Return all columns that can be chosen. */
export function listColumnOptions(
  available: ColumnListResponse,
  summary: string,
  isSelected: (key: string) => boolean,
): OptionGroup[] {
  const option = (key: string, label: string, hint = '') => ({
    key,
    label,
    hint,
    selected: isSelected(key),
  });
  return [
    {
      title: m.columnsAbout,
      options: PLAIN_KEYS.map((key) => option(key, getColumnTitle(key, available))),
    },
    {
      title: common.hyperparameters,
      options: available.hparams.map(({ name, distinct }) => {
        const count = common.valueCount({ count: distinct });
        return option(`hparam:${name}`, getHparamTitle(name, available), count);
      }),
    },
    {
      title: common.metrics,
      options: available.metrics.map((tag) =>
        option(makeMetricKey(summary, tag), getMetricTitle(tag, available)),
      ),
    },
  ];
}
