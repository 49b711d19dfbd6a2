/**
 * Titles, widths and cell texts of the columns of the runs table, and completions of a filter expression.
 */
import type { ColumnListResponse, HParamColumn, RunTableColumn } from '../../api/schemas';
import * as common from '../../catalog/common';
import * as m from '../../catalog/run_table';
import type { Option, OptionGroup } from '../../components/options';
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
function makeMetricKey(summary: string, tag: string): string {
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

/** What the runs of the log have. */
export interface FilterFields {
  /** Properties of every run, with an explanation of each. */
  readonly plain: readonly { readonly name: string; readonly hint: string }[];
  readonly hparams: readonly HParamColumn[];
  readonly metrics: readonly string[];
  /** Display names of hyperparameters and metrics, by the keys of their columns. */
  readonly displayNames: Readonly<Record<string, string>>;
  readonly labels: readonly string[];
  readonly states: readonly string[];
}

export interface Completion extends Option {
  /** Replaces the characters from `start` to the caret. */
  readonly insert: string;
  /** The texts that find it: the name, and the display name if there is one; the key by default. */
  readonly names?: readonly string[];
}

interface Completions {
  readonly start: number;
  readonly options: readonly Completion[];
}

const MAX_COMPLETIONS = 12;
const FUNCTIONS = ['last', 'min', 'max', 'step', 'at'];
const PARTIAL = /[^\s()[\],"'<>=!~:]*$/;
const QUOTED_PARTIAL = /(["'])(?:[^"'\\]|\\.)*$/;
const METRIC_CALL = /\b(?:last|min|max|step)\(\s*$/i;
const AT_CALL = /\bat\(\s*$/i;
const CONFIG_CALL = /\b(?:config|hparam)\(\s*$/i;
/** The field of a comparison or of a list that is being typed. */
const COMPARED = /([^\s()[\],"'<>=!~:]+)\s*(?:[=!<>]=|[=:<>])\s*$/;
const LISTED = /([^\s()[\],"'<>=!~:]+)\s+in\s*[([](?:[^)\]]*,)?\s*$/i;
const PLAIN_WORD = /^[^\s()[\],"'<>=!~:]+$/;

/** Return the completions at a position of the text. */
export function completeFilter(text: string, caret: number, fields: FilterFields): Completions {
  const typed = text.slice(0, caret);
  const hasOpenQuote = (typed.match(/"/g)?.length ?? 0) % 2 === 1;
  const partial = (hasOpenQuote ? QUOTED_PARTIAL : PARTIAL).exec(typed)?.[0] ?? '';
  const start = caret - partial.length;
  const before = typed.slice(0, start);
  const word = partial.replace(/^["']/, '').toLowerCase();
  const options = listCandidates(before, fields, word)
    .filter(({ key, names = [key] }) => {
      const isFound = names.some((name) => name.toLowerCase().includes(word));
      return isFound && key.toLowerCase() !== word;
    })
    .sort((a, b) => rank(a, word) - rank(b, word))
    .slice(0, MAX_COMPLETIONS);
  return { start, options };
}

/** Names that begin with the word come first. */
function rank({ key, names = [key] }: Completion, word: string): number {
  return names.some((name) => name.toLowerCase().startsWith(word)) ? 0 : 1;
}

function listCandidates(before: string, fields: FilterFields, word: string): Completion[] {
  const { displayNames } = fields;
  const isAt = AT_CALL.test(before);
  if (isAt || METRIC_CALL.test(before))
    return fields.metrics.map((tag) => ({
      ...{ key: tag, label: tag, insert: isAt ? `"${tag}", ` : `"${tag}") ` },
      ...describe(tag, displayNames[`last:${tag}`]),
    }));
  if (CONFIG_CALL.test(before))
    return fields.hparams.map(({ name }) => ({
      ...{ key: name, label: name, insert: `"${name}") ` },
      ...describe(name, displayNames[`hparam:${name}`]),
    }));
  const field = (COMPARED.exec(before) ?? LISTED.exec(before))?.[1];
  if (field !== undefined) return listValues(field, fields).map(makeValue);
  // A part of the name of a metric is enough to find it.
  return word === '' ? listTerms(fields) : [...listTerms(fields), ...listLastValues(fields)];
}

/** Explain a name by its display name, and find it by both. */
function describe(name: string, displayName: string | undefined): Partial<Completion> {
  return displayName === undefined
    ? { names: [name] }
    : { names: [name, displayName], hint: displayName };
}

function listLastValues({ metrics, displayNames }: FilterFields): Completion[] {
  return metrics.map((tag) => {
    const call = `last("${tag}")`;
    return {
      key: call,
      label: call,
      insert: `${call} `,
      ...describe(tag, displayNames[`last:${tag}`]),
    };
  });
}

function listValues(field: string, fields: FilterFields): readonly string[] {
  if (field.toLowerCase() === 'state') return fields.states;
  if (/^(tag|labels?)$/i.test(field)) return fields.labels;
  const hparam = fields.hparams.find(({ name }) => name === field);
  return hparam?.values.filter((value) => value !== null).map(String) ?? [];
}

function makeValue(value: string): Completion {
  return { key: value, label: value, insert: `${quote(value)} ` };
}

function listTerms({ plain, hparams, metrics, displayNames }: FilterFields): Completion[] {
  return [
    ...plain.map(({ name, hint }) => ({ key: name, label: name, hint, insert: `${name} ` })),
    ...hparams.map(({ name, values }) => ({
      key: name,
      label: name,
      hint: values.slice(0, 3).map(String).join(', '),
      insert: PLAIN_WORD.test(name) ? `${name} ` : `config("${name}") `,
      ...describe(name, displayNames[`hparam:${name}`]),
    })),
    ...(metrics.length > 0 ? FUNCTIONS : []).map((name) => ({
      key: name,
      label: name === 'at' ? 'at("…", 1000)' : `${name}("…")`,
      hint: metrics[0] ?? '',
      insert: `${name}(`,
    })),
  ];
}

function quote(value: string): string {
  return PLAIN_WORD.test(value) ? value : `"${value.replaceAll('"', '\\"')}"`;
}
