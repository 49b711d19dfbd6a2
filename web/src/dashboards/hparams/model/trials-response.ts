import { sortNatural } from '../../../lib/sorting';
import type { HParamCells, MetricCells, SessionRows, SessionsResponse } from '../schemas';
import { makeTrials, type TrialColumn, type Trials } from './trials';

/** States of cells, as the server counts them. */
const MISSING_CELL = 1;
const TEXT_CELL = 2;
const BOOL_CELL = 3;

const RUNNING_STATUS = 3;
/** A session without an end that has grown so lately is taken to be running. */
const MAX_RUNNING_SILENCE_S = 300;

export const NAME_KEY = 'name';
export const STATUS_KEY = 'status';
export const START_KEY = 'start';
export const DURATION_KEY = 'duration';
const STATUSES = ['unknown', 'success', 'failure', 'running'];

/** A metric, and what else is known of it than its numbers. */
export interface TrialMetric {
  readonly key: string;
  readonly title: string;
  readonly tag: string;
  readonly group: string;
  readonly goal: 'min' | 'max';
  readonly declared: boolean;
}

export function readTrials({ rows, hparams, metrics }: SessionsResponse, nowS: number): Trials {
  const titles = makeMetricTitles(metrics);
  const columns = [
    ...hparams.map(readHParam),
    ...metrics.map((metric, at) => readMetric(metric, titles[at] ?? metric.key)),
    ...makeInfoColumns(rows, nowS),
  ];
  const runs = rows.sessions ?? rows.names.map((name) => [name]);
  return makeTrials(rows.labels, runs, columns);
}

export function readMetrics({ metrics }: SessionsResponse): TrialMetric[] {
  const titles = makeMetricTitles(metrics);
  return metrics.map(({ key, tag, group, goal, declared }, at) => ({
    key: makeMetricKey(key),
    title: titles[at] ?? key,
    tag,
    group,
    goal,
    declared,
  }));
}

export function makeMetricKey(key: string): string {
  return `metric:${key}`;
}

/** Metrics of several runs of a session may have the same name; their group tells them apart. */
function makeMetricTitles(metrics: readonly MetricCells[]): string[] {
  const counts = new Map<string, number>();
  for (const { label } of metrics) counts.set(label, (counts.get(label) ?? 0) + 1);
  return metrics.map(({ label, group }) =>
    (counts.get(label) ?? 0) > 1 && group ? `${group}/${label}` : label,
  );
}

function readHParam(answer: HParamCells): TrialColumn {
  const { key, label: title, description, values, states, differs } = answer;
  const missingMask = states?.includes(MISSING_CELL)
    ? states.map((state) => +(state === MISSING_CELL))
    : null;
  const common = { key, kind: 'hparam', title, description, format: 'value', missingMask } as const;
  if (answer.type === 'number')
    return {
      ...common,
      values: maskMissing(values, missingMask),
      categories: null,
      varies: differs,
    };
  const { numbers, words } = toCategories(answer);
  return { ...common, values: numbers, categories: words, varies: differs };
}

function maskMissing(values: Float64Array, missing: Uint8Array | null): Float64Array {
  return missing ? values.map((value, row) => (missing[row] ? NaN : value)) : values;
}

/** Values of any kind as places among words in natural order. */
function toCategories({ values, states, words }: HParamCells): {
  numbers: Float64Array;
  words: readonly string[];
} {
  const texts = Array.from(values, (value, row) => toText(value, states?.[row] ?? 0, words));
  const known = new Set(texts.filter((text) => text !== null));
  const sorted = sortNatural(known, (word) => word);
  const places = new Map(sorted.map((word, place) => [word, place]));
  const numbers = Float64Array.from(texts, (text) =>
    text === null ? NaN : (places.get(text) ?? NaN),
  );
  return { numbers, words: sorted };
}

function toText(value: number, state: number, words: readonly string[]): string | null {
  if (state === MISSING_CELL) return null;
  if (state === TEXT_CELL) return words[value] ?? '';
  return state === BOOL_CELL ? String(value !== 0) : String(value);
}

function readMetric(answer: MetricCells, title: string): TrialColumn {
  const { key, description, values, steps, deviation } = answer;
  const missing = Uint8Array.from(steps, (step) => +Number.isNaN(step));
  const numbers = maskMissing(values, missing);
  const some = missing.includes(1) ? missing : null;
  const [first] = numbers;
  const differs = numbers.some((value) => value !== first);
  const common = { kind: 'metric', format: 'value', categories: null } as const;
  return {
    ...common,
    key: makeMetricKey(key),
    title,
    description,
    values: numbers,
    missingMask: some,
    deviations: deviation,
    varies: differs,
  };
}

function makeInfoColumns(rows: SessionRows, nowS: number): TrialColumn[] {
  const status = rows.status.map((status, row) =>
    status === 0 && nowS - (rows.last[row] ?? NaN) < MAX_RUNNING_SILENCE_S
      ? RUNNING_STATUS
      : status,
  );
  const ends = rows.end.map((end, row) => (Number.isNaN(end) ? (rows.last[row] ?? NaN) : end));
  const durations = ends.map((end, row) => end - (rows.start[row] ?? NaN));
  return [
    makeNameColumn(rows.labels),
    makeInfoColumn(STATUS_KEY, 'Status', Float64Array.from(status), { categories: STATUSES }),
    makeInfoColumn(START_KEY, 'Start', rows.start, { format: 'time' }),
    makeInfoColumn(DURATION_KEY, 'Duration', durations, { format: 'duration' }),
  ];
}

/** Names are put in order when somebody sorts by them: thousands take their time. */
function makeNameColumn(labels: readonly string[]): TrialColumn {
  const numbers = Float64Array.from(labels, (_, row) => row);
  let ranks: Float64Array | null = null;
  return {
    ...makeInfoColumn(NAME_KEY, 'Session', numbers, { categories: labels }),
    getSortRanks: () => (ranks ??= rankNames(labels)),
  };
}

function rankNames(labels: readonly string[]): Float64Array {
  const ranks = new Float64Array(labels.length);
  const rows = labels.map((_, row) => row);
  sortNatural(rows, (row) => labels[row] ?? '').forEach((row, rank) => (ranks[row] = rank));
  return ranks;
}

function makeInfoColumn(
  key: string,
  title: string,
  numbers: Float64Array,
  more: Partial<Pick<TrialColumn, 'categories' | 'format'>>,
): TrialColumn {
  const unknown = numbers.map((number) => +Number.isNaN(number));
  const missing = unknown.includes(1) ? Uint8Array.from(unknown) : null;
  const [first] = numbers;
  return {
    key,
    kind: 'about',
    title,
    description: '',
    format: 'value',
    values: numbers,
    categories: null,
    missingMask: missing,
    varies: numbers.some((number) => number !== first),
    ...more,
  };
}

type Floats = Float64Array<ArrayBuffer> | Float64Array;

/** What was known with what has changed since put in its place. */
export function applyTrialsUpdate(
  known: SessionsResponse,
  news: SessionsResponse,
): SessionsResponse {
  const { at } = news.rows;
  const count = at.reduce((most, row) => Math.max(most, row + 1), known.rows.names.length);
  if (at.length === 0 && hasSameColumns(known, news)) return { ...known, revision: news.revision };
  return {
    ...news,
    rows: mergeRows(known.rows, news.rows, count),
    hparams: news.hparams.map((hparam) =>
      mergeHParam(
        known.hparams.find(({ key }) => key === hparam.key),
        hparam,
        at,
        count,
      ),
    ),
    metrics: news.metrics.map((metric) =>
      mergeMetric(
        known.metrics.find(({ key }) => key === metric.key),
        metric,
        at,
        count,
      ),
    ),
  };
}

function hasSameColumns(known: SessionsResponse, news: SessionsResponse): boolean {
  return (
    known.hparams.length === news.hparams.length && known.metrics.length === news.metrics.length
  );
}

function mergeRows(known: SessionRows, news: SessionRows, count: number): SessionRows {
  const { at } = news;
  const floats = (name: 'start' | 'end' | 'last'): Float64Array =>
    mergeNumbers(known[name], news[name], at, count);
  return {
    at: Int32Array.from({ length: count }, (_, row) => row),
    names: mergeList(known.names, news.names, at),
    labels: mergeList(known.labels, news.labels, at),
    groups: Int32Array.from(mergeNumbers(known.groups, news.groups, at, count)),
    group_names: news.group_names,
    counts: Int32Array.from(mergeNumbers(known.counts, news.counts, at, count)),
    sessions: known.sessions && news.sessions && mergeList(known.sessions, news.sessions, at),
    status: Uint8Array.from(mergeNumbers(known.status, news.status, at, count)),
    start: floats('start'),
    end: floats('end'),
    last: floats('last'),
  };
}

const MISSING_STATE = 1;
const TEXT_STATE = 2;

function mergeHParam(
  known: HParamCells | undefined,
  news: HParamCells,
  at: Int32Array,
  count: number,
): HParamCells {
  const before = known ? getStates(known) : new Uint8Array();
  const states = Uint8Array.from(mergeNumbers(before, getStates(news), at, count, MISSING_STATE));
  const values = mergeNumbers(
    known ? remapCategories(known, news.words) : [],
    news.values,
    at,
    count,
  );
  return { ...news, values, states: states.some((state) => state !== 0) ? states : null };
}

function getStates({ states, values }: HParamCells): Uint8Array {
  return states ?? new Uint8Array(values.length);
}

/** Places among the words of then as places among the words of now. */
function remapCategories({ values, states, words }: HParamCells, now: readonly string[]): Floats {
  if (!states) return values;
  const places = words.map((word) => now.indexOf(word));
  return values.map((value, row) => (states[row] === TEXT_STATE ? (places[value] ?? NaN) : value));
}

function mergeMetric(
  known: MetricCells | undefined,
  news: MetricCells,
  at: Int32Array,
  count: number,
): MetricCells {
  return {
    ...news,
    values: mergeNumbers(known?.values ?? [], news.values, at, count),
    steps: mergeNumbers(known?.steps ?? [], news.steps, at, count),
    deviation: news.deviation && mergeNumbers(known?.deviation ?? [], news.deviation, at, count),
  };
}

function mergeNumbers(
  known: ArrayLike<number>,
  news: ArrayLike<number>,
  at: Int32Array,
  count: number,
  otherwise = NaN,
): Float64Array {
  const joined = new Float64Array(count).fill(otherwise);
  joined.set(known);
  at.forEach((row, place) => (joined[row] = news[place] ?? otherwise));
  return joined;
}

function mergeList<Item>(known: readonly Item[], news: readonly Item[], at: Int32Array): Item[] {
  const joined = [...known];
  at.forEach((row, place) => (joined[row] = news[place] as Item));
  return joined;
}
