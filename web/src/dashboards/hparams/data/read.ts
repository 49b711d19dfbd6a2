import { sortNatural } from '../../../base/natural';
import { type Column, makeSessions, type Sessions } from '../model/column';
import type { HParamAnswer, MetricAnswer, RowsAnswer, SessionsAnswer } from './answers';

/** States of cells, as the server counts them. */
const MISSING = 1;
const TEXT = 2;
const BOOL = 3;

const RUNNING = 3;
/** A session without an end that has grown so lately is taken to be running. */
const LATELY_S = 300;

export const NAME = 'name';
export const STATUS = 'status';
export const START = 'start';
export const DURATION = 'duration';
const STATUSES = ['unknown', 'success', 'failure', 'running'];

/** A metric, and what else is known of it than its numbers. */
export interface Metric {
  readonly key: string;
  readonly title: string;
  readonly tag: string;
  readonly group: string;
  readonly goal: 'min' | 'max';
  readonly declared: boolean;
}

export function readSessions({ rows, hparams, metrics }: SessionsAnswer, nowS: number): Sessions {
  const titles = titlesOf(metrics);
  const columns = [
    ...hparams.map(readHParam),
    ...metrics.map((metric, at) => readMetric(metric, titles[at] ?? metric.key)),
    ...aboutColumns(rows, nowS),
  ];
  const runs = rows.sessions ?? rows.names.map((name) => [name]);
  return makeSessions(rows.labels, runs, columns);
}

export function readMetrics({ metrics }: SessionsAnswer): Metric[] {
  const titles = titlesOf(metrics);
  return metrics.map(({ key, tag, group, goal, declared }, at) => ({
    key: metricKey(key),
    title: titles[at] ?? key,
    tag,
    group,
    goal,
    declared,
  }));
}

export function metricKey(key: string): string {
  return `metric:${key}`;
}

/** Metrics of several runs of a session may have the same name; their group tells them apart. */
function titlesOf(metrics: readonly MetricAnswer[]): string[] {
  const counts = new Map<string, number>();
  for (const { label } of metrics) counts.set(label, (counts.get(label) ?? 0) + 1);
  return metrics.map(({ label, group }) =>
    (counts.get(label) ?? 0) > 1 && group ? `${group}/${label}` : label,
  );
}

function readHParam(answer: HParamAnswer): Column {
  const { key, label: title, description, values, states, differs } = answer;
  const missing = states?.includes(MISSING) ? states.map((state) => +(state === MISSING)) : null;
  const common = { key, kind: 'hparam', title, description, meaning: 'value', missing } as const;
  if (answer.type === 'number')
    return { ...common, numbers: blank(values, missing), words: null, differs };
  const { numbers, words } = asWords(answer);
  return { ...common, numbers, words, differs };
}

function blank(values: Float64Array, missing: Uint8Array | null): Float64Array {
  return missing ? values.map((value, row) => (missing[row] ? NaN : value)) : values;
}

/** Values of any kind as places among words in natural order. */
function asWords({ values, states, words }: HParamAnswer): {
  numbers: Float64Array;
  words: readonly string[];
} {
  const texts = Array.from(values, (value, row) => textOf(value, states?.[row] ?? 0, words));
  const known = new Set(texts.filter((text) => text !== null));
  const sorted = sortNatural(known, (word) => word);
  const places = new Map(sorted.map((word, place) => [word, place]));
  const numbers = Float64Array.from(texts, (text) =>
    text === null ? NaN : (places.get(text) ?? NaN),
  );
  return { numbers, words: sorted };
}

function textOf(value: number, state: number, words: readonly string[]): string | null {
  if (state === MISSING) return null;
  if (state === TEXT) return words[value] ?? '';
  return state === BOOL ? String(value !== 0) : String(value);
}

function readMetric(answer: MetricAnswer, title: string): Column {
  const { key, description, values, steps, deviation } = answer;
  const missing = Uint8Array.from(steps, (step) => +Number.isNaN(step));
  const numbers = blank(values, missing);
  const some = missing.includes(1) ? missing : null;
  const [first] = numbers;
  const differs = numbers.some((value) => value !== first);
  const common = { kind: 'metric', meaning: 'value', words: null, deviation } as const;
  return { ...common, key: metricKey(key), title, description, numbers, missing: some, differs };
}

function aboutColumns(rows: RowsAnswer, nowS: number): Column[] {
  const status = rows.status.map((status, row) =>
    status === 0 && nowS - (rows.last[row] ?? NaN) < LATELY_S ? RUNNING : status,
  );
  const ends = rows.end.map((end, row) => (Number.isNaN(end) ? (rows.last[row] ?? NaN) : end));
  const durations = ends.map((end, row) => end - (rows.start[row] ?? NaN));
  return [
    nameColumn(rows.labels),
    about(STATUS, 'Status', Float64Array.from(status), { words: STATUSES }),
    about(START, 'Start', rows.start, { meaning: 'time' }),
    about(DURATION, 'Duration', durations, { meaning: 'duration' }),
  ];
}

/** Names are put in order when somebody sorts by them: thousands take their time. */
function nameColumn(labels: readonly string[]): Column {
  const numbers = Float64Array.from(labels, (_, row) => row);
  let ranks: Float64Array | null = null;
  return {
    ...about(NAME, 'Session', numbers, { words: labels }),
    ranks: () => (ranks ??= rankNames(labels)),
  };
}

function rankNames(labels: readonly string[]): Float64Array {
  const ranks = new Float64Array(labels.length);
  const rows = labels.map((_, row) => row);
  sortNatural(rows, (row) => labels[row] ?? '').forEach((row, rank) => (ranks[row] = rank));
  return ranks;
}

function about(
  key: string,
  title: string,
  numbers: Float64Array,
  more: Partial<Pick<Column, 'words' | 'meaning'>>,
): Column {
  const unknown = numbers.map((number) => +Number.isNaN(number));
  const missing = unknown.includes(1) ? Uint8Array.from(unknown) : null;
  const [first] = numbers;
  return {
    key,
    kind: 'about',
    title,
    description: '',
    meaning: 'value',
    numbers,
    words: null,
    missing,
    differs: numbers.some((number) => number !== first),
    ...more,
  };
}
