/** Convert responses of the server to trials, apply updates, and join parts of a large table. */
import * as common from '../../../catalog/common';
import * as m from '../../../catalog/hparams';
import type {
  HParamCells,
  MetricCells,
  SessionRows,
  SessionsResponse,
  StudyInfo,
} from '../../../api/schemas';
import { sortNatural } from '../../../lib/arrays';
import { formatValue } from '../../../lib/format';
import { getCategoryText, makeTrials, STUDY_KEY, type TrialColumn, type Trials } from './trials';

/** Values of `HParamCells.states`. */
const NUMBER_CELL = 0;
export const MISSING_CELL = 1;
export const TEXT_CELL = 2;
const BOOL_CELL = 3;
const CELL_STATES = [NUMBER_CELL, MISSING_CELL, TEXT_CELL, BOOL_CELL];

const RUNNING_STATUS = 3;
/** A trial without an end counts as running if it logged something in this time. */
const MAX_RUNNING_SILENCE_S = 300;

export const NAME_KEY = 'name';
export const STATUS_KEY = 'status';
export const START_KEY = 'start';
export const DURATION_KEY = 'duration';
const STATUSES = ['unknown', 'success', 'failure', 'running', 'pruned', 'infeasible'];
const STATUS_LABELS = [
  m.statusUnknown,
  m.statusSuccess,
  m.statusFailure,
  m.statusRunning,
  m.statusPruned,
  m.statusInfeasible,
];
export const PRUNED_STATUS = 4;
/** Unknown and success: other trials have no final value, so they are not ranked. */
const RANKED_STATUSES = [0, 1];
/** Trials that violate a constraint have a value, but cannot be the best. */
const COMPLETED_STATUSES = [...RANKED_STATUSES, 5];
/** A value of `SessionRows.source`. */
const STUDY_FILE_SOURCE = 2;

/** A metric without its values. */
export interface TrialMetric {
  readonly key: string;
  readonly title: string;
  readonly tag: string;
  readonly group: string;
  /** Null if studies disagree. */
  readonly goal: 'min' | 'max' | null;
  /** Whether the study declares it; otherwise it is guessed from the name. */
  readonly goalDeclared: boolean;
  readonly declared: boolean;
}

/** With `isPart`, the rows are only some of the table, and axes have the ranges of all. */
export function readTrials(
  { rows, studies, hparams, metrics }: SessionsResponse,
  nowS: number,
  isPart = false,
): Trials {
  const titles = makeMetricTitles(metrics);
  const addRange = isPart ? withRange : (column: TrialColumn): TrialColumn => column;
  const columns = [
    ...hparams.map((cells) => addRange(readHParam(cells), cells)),
    ...metrics.map((metric, index) =>
      addRange(readMetric(metric, titles[index] ?? metric.key), metric),
    ),
    ...makeInfoColumns(rows, nowS),
    ...makeStudyColumn(rows, studies),
  ];
  const runs = rows.sessions ?? rows.names.map((name) => [name]);
  const storedMask = rows.source.map((source) => Number(source === STUDY_FILE_SOURCE));
  return makeTrials(rows.labels, runs, columns, storedMask.includes(1) ? storedMask : null);
}

function withRange(column: TrialColumn, { min, max }: HParamCells | MetricCells): TrialColumn {
  return min === null || max === null ? column : { ...column, range: [min, max] };
}

export function readMetrics({ metrics }: SessionsResponse): TrialMetric[] {
  const titles = makeMetricTitles(metrics);
  return metrics.map(({ key, tag, group, goal, goal_declared, declared }, index) => ({
    key: makeMetricKey(key),
    title: titles[index] ?? key,
    tag,
    group,
    goal,
    goalDeclared: goal_declared,
    declared,
  }));
}

/** Return the trials among `rows` that can be the best: completed, and not infeasible. */
export function listRankedRows(rows: Int32Array, status: Uint8Array): Int32Array {
  return rows.filter((row) => RANKED_STATUSES.includes(status[row] ?? 0));
}

/** Return the trials among `rows` with a result: neither pruned nor failed nor running. */
export function listCompletedRows(rows: Int32Array, status: Uint8Array): Int32Array {
  return rows.filter((row) => COMPLETED_STATUSES.includes(status[row] ?? 0));
}

export function makeMetricKey(key: string): string {
  return `metric:${key}`;
}

/** Add the group to the names of metrics that several runs of a trial have. */
function makeMetricTitles(metrics: readonly MetricCells[]): string[] {
  const counts = new Map<string, number>();
  for (const { label } of metrics) counts.set(label, (counts.get(label) ?? 0) + 1);
  return metrics.map(({ label, group }) =>
    (counts.get(label) ?? 0) > 1 && group ? `${group}/${label}` : label,
  );
}

function readHParam(cells: HParamCells): TrialColumn {
  const { key, label: title, description, values, states, varies: varies } = cells;
  const missingMask = states?.includes(MISSING_CELL)
    ? states.map((state) => +(state === MISSING_CELL))
    : null;
  const base = { key, kind: 'hparam', title, description, missingMask, varies } as const;
  if (cells.type === 'number')
    return { ...base, format: 'value', values: maskMissing(values, missingMask), categories: null };
  if (cells.type === 'mixed' && cells.numeric)
    return { ...base, format: 'value', categories: null, ...toNumbers(cells) };
  return { ...base, format: 'value', ...toCategories(cells) };
}

/** Separate the numbers from the few values that are not. */
function toNumbers({
  values,
  states,
  categories: words,
}: HParamCells): Pick<TrialColumn, 'values' | 'texts'> {
  const isNumber = (row: number): boolean => (states?.[row] ?? 0) === NUMBER_CELL;
  return {
    values: values.map((value, row) => (isNumber(row) ? value : NaN)),
    texts: Array.from(values, (value, row) =>
      isNumber(row) ? null : toText(value, states?.[row] ?? 0, words),
    ),
  };
}

/** Return 1 for each NaN; null if there is none. */
function maskNaN(values: Float64Array): Uint8Array | null {
  let mask: Uint8Array | null = null;
  for (let row = 0; row < values.length; row++)
    if (Number.isNaN(values[row])) (mask ??= new Uint8Array(values.length))[row] = 1;
  return mask;
}

function maskMissing(values: Float64Array, mask: Uint8Array | null): Float64Array {
  return mask ? values.map((value, row) => (mask[row] ? NaN : value)) : values;
}

/** Convert values of any type to indices into categories in natural order. */
function toCategories({
  values,
  states,
  categories: words,
}: HParamCells): Pick<TrialColumn, 'values' | 'categories' | 'categoryLabels'> {
  // By state and value: texts are made of distinct values only, as making them takes long.
  const texts = CELL_STATES.map(() => new Map<number, string | null>());
  for (let row = 0; row < values.length; row++) {
    const [value, state] = [values[row] ?? NaN, states?.[row] ?? NUMBER_CELL];
    const known = texts[state];
    if (known && !known.has(value)) known.set(value, toText(value, state, words));
  }
  const all = texts.flatMap((known) => [...known.values()]);
  const categories = sortNatural(new Set(all.filter((text) => text !== null)), (text) => text);
  const indices = new Map<string | null, number>(categories.map((text, index) => [text, index]));
  const indexed = texts.map(
    (known) => new Map(Array.from(known, ([value, text]) => [value, indices.get(text) ?? NaN])),
  );
  return {
    values: values.map((value, row) => indexed[states?.[row] ?? NUMBER_CELL]?.get(value) ?? NaN),
    categories,
    ...(states?.includes(NUMBER_CELL) ? { categoryLabels: categories.map(roundNumber) } : {}),
  };
}

/** Return the text of a number with as many digits as in a column of numbers. */
function roundNumber(text: string): string {
  const number = Number(text);
  if (text === '') return getCategoryText(text);
  return String(number) === text ? formatValue(number) : text;
}

function toText(value: number, state: number, words: readonly string[]): string | null {
  if (state === MISSING_CELL) return null;
  if (state === TEXT_CELL) return words[value] ?? '';
  return state === BOOL_CELL ? String(value !== 0) : String(value);
}

function readMetric(cells: MetricCells, title: string): TrialColumn {
  const missingMask = maskNaN(cells.steps);
  const values = maskMissing(cells.values, missingMask);
  return {
    key: makeMetricKey(cells.key),
    kind: 'metric',
    title,
    description: cells.description,
    format: 'value',
    values,
    categories: null,
    missingMask,
    deviations: cells.deviation,
    varies: values.some((value) => value !== values[0]),
  };
}

function makeInfoColumns(rows: SessionRows, nowS: number): TrialColumn[] {
  const status = rows.status.map((status, row) =>
    status === 0 && nowS - (rows.last_logged[row] ?? NaN) < MAX_RUNNING_SILENCE_S
      ? RUNNING_STATUS
      : status,
  );
  const ends = rows.end.map((end, row) =>
    Number.isNaN(end) ? (rows.last_logged[row] ?? NaN) : end,
  );
  const durations = ends.map((end, row) => end - (rows.start[row] ?? NaN));
  return [
    makeNameColumn(rows.labels),
    makeInfoColumn(STATUS_KEY, m.columnStatus, Float64Array.from(status), {
      categories: STATUSES,
      categoryLabels: STATUS_LABELS,
    }),
    makeInfoColumn(START_KEY, common.startTime, rows.start, { format: 'time' }),
    makeInfoColumn(DURATION_KEY, common.duration, durations, { format: 'duration' }),
  ];
}

/** Return the study of each trial, if there are several. */
function makeStudyColumn(rows: SessionRows, studies: readonly StudyInfo[]): TrialColumn[] {
  const column = makeInfoColumn(STUDY_KEY, m.columnStudy, Float64Array.from(rows.studies), {
    categories: studies.map(({ name }) => name),
    categoryLabels: studies.map(getStudyLabel),
  });
  return column.varies ? [column] : [];
}

export function getStudyLabel({ label }: StudyInfo): string {
  return label === '' ? m.studyRoot : label;
}

/** Names are ranked on first use, because sorting thousands of names takes long. */
function makeNameColumn(labels: readonly string[]): TrialColumn {
  const values = Float64Array.from(labels, (_, row) => row);
  let ranks: Float64Array | null = null;
  return {
    ...makeInfoColumn(NAME_KEY, m.columnTrial, values, { categories: labels }),
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
  values: Float64Array,
  options: Partial<Pick<TrialColumn, 'categories' | 'categoryLabels' | 'format'>>,
): TrialColumn {
  return {
    key,
    kind: 'info',
    title,
    description: '',
    format: 'value',
    values,
    categories: null,
    missingMask: maskNaN(values),
    varies: values.some((value) => value !== values[0]),
    ...options,
  };
}

/** Merge the rows that changed since a revision into an earlier response. */
export function applyTrialsUpdate(
  previous: SessionsResponse,
  update: SessionsResponse,
): SessionsResponse {
  const { indices } = update.rows;
  const count = indices.reduce((max, row) => Math.max(max, row + 1), previous.rows.names.length);
  if (indices.length === 0 && hasSameColumns(previous, update))
    return { ...previous, revision: update.revision };
  return {
    ...update,
    rows: mergeRows(previous.rows, update.rows, count),
    hparams: update.hparams.map((hparam) =>
      mergeHParam(
        previous.hparams.find(({ key }) => key === hparam.key),
        hparam,
        indices,
        count,
      ),
    ),
    metrics: update.metrics.map((metric) =>
      mergeMetric(
        previous.metrics.find(({ key }) => key === metric.key),
        metric,
        indices,
        count,
      ),
    ),
  };
}

function hasSameColumns(previous: SessionsResponse, update: SessionsResponse): boolean {
  return (
    previous.hparams.length === update.hparams.length &&
    previous.metrics.length === update.metrics.length
  );
}

function mergeRows(previous: SessionRows, update: SessionRows, count: number): SessionRows {
  const { indices } = update;
  const floats = (name: 'start' | 'end' | 'last_logged'): Float64Array =>
    mergeNumbers(previous[name], update[name], indices, count);
  return {
    indices: Int32Array.from({ length: count }, (_, row) => row),
    names: mergeList(previous.names, update.names, indices),
    labels: mergeList(previous.labels, update.labels, indices),
    groups: Int32Array.from(mergeNumbers(previous.groups, update.groups, indices, count)),
    group_names: update.group_names,
    counts: Int32Array.from(mergeNumbers(previous.counts, update.counts, indices, count)),
    sessions:
      previous.sessions &&
      update.sessions &&
      mergeList(previous.sessions, update.sessions, indices),
    status: Uint8Array.from(mergeNumbers(previous.status, update.status, indices, count)),
    start: floats('start'),
    end: floats('end'),
    last_logged: floats('last_logged'),
    source: Uint8Array.from(mergeNumbers(previous.source, update.source, indices, count)),
    studies: Int32Array.from(mergeNumbers(previous.studies, update.studies, indices, count)),
    links: { ...previous.links, ...update.links },
  };
}

function mergeHParam(
  previous: HParamCells | undefined,
  update: HParamCells,
  at: Int32Array,
  count: number,
): HParamCells {
  const before = previous ? getStates(previous) : new Uint8Array();
  const states = Uint8Array.from(mergeNumbers(before, getStates(update), at, count, MISSING_CELL));
  const values = mergeNumbers(
    previous ? remapCategories(previous, update.categories) : [],
    update.values,
    at,
    count,
  );
  return { ...update, values, states: states.some((state) => state !== 0) ? states : null };
}

function getStates({ states, values }: HParamCells): Uint8Array {
  return states ?? new Uint8Array(values.length);
}

/** Replace indices into the old categories by indices into the new ones. */
function remapCategories(
  { values, states, categories }: HParamCells,
  newWords: readonly string[],
): Float64Array {
  if (!states) return values;
  const indices = categories.map((word) => newWords.indexOf(word));
  return values.map((value, row) => (states[row] === TEXT_CELL ? (indices[value] ?? NaN) : value));
}

function mergeMetric(
  previous: MetricCells | undefined,
  update: MetricCells,
  at: Int32Array,
  count: number,
): MetricCells {
  return {
    ...update,
    values: mergeNumbers(previous?.values ?? [], update.values, at, count),
    steps: mergeNumbers(previous?.steps ?? [], update.steps, at, count),
    deviation:
      update.deviation && mergeNumbers(previous?.deviation ?? [], update.deviation, at, count),
  };
}

function mergeNumbers(
  previous: ArrayLike<number>,
  update: ArrayLike<number>,
  at: Int32Array,
  count: number,
  fallback = NaN,
): Float64Array {
  const merged = new Float64Array(count).fill(fallback);
  merged.set(previous);
  at.forEach((row, index) => (merged[row] = update[index] ?? fallback));
  return merged;
}

function mergeList<Item>(
  previous: readonly Item[],
  update: readonly Item[],
  at: Int32Array,
): Item[] {
  const merged = [...previous];
  at.forEach((row, index) => (merged[row] = update[index] as Item));
  return merged;
}

export interface JoinedTrials {
  readonly table: SessionsResponse;
  /** The row in `table` of each index in the whole table. */
  readonly rowOf: ReadonlyMap<number, number>;
}

/** Where a row of the joined table comes from. */
interface RowSource {
  /** The number of the response. */
  readonly part: number;
  readonly at: number;
}

/**
 * Return a table with the rows of all responses, each once; undefined without responses. Everything
 * else is that of the first response. Cells that a response does not have are missing.
 */
export function joinTrials(parts: readonly SessionsResponse[]): JoinedTrials | undefined {
  const [first] = parts;
  if (!first) return undefined;
  const rowOf = new Map<number, number>();
  const sources: RowSource[] = [];
  parts.forEach(({ rows }, part) => {
    rows.indices.forEach((index, at) => {
      if (rowOf.has(index)) return;
      rowOf.set(index, sources.length);
      sources.push({ part, at });
    });
  });
  const hparams = first.hparams.map((cells) =>
    joinHParam(
      parts.map((part) => part.hparams.find(({ key }) => key === cells.key)),
      cells,
      sources,
    ),
  );
  const metrics = first.metrics.map((cells) =>
    joinMetric(
      parts.map((part) => part.metrics.find(({ key }) => key === cells.key)),
      cells,
      sources,
    ),
  );
  const rows = joinRows(
    parts.map((part) => part.rows),
    sources,
  );
  return { table: { ...first, rows, hparams, metrics }, rowOf };
}

function joinRows(parts: readonly SessionRows[], sources: readonly RowSource[]): SessionRows {
  const pick = <Item>(getList: (rows: SessionRows) => ArrayLike<Item>): Item[] =>
    sources.map(({ part, at }) => getList(parts[part] as SessionRows)[at] as Item);
  const groupNames = pick(({ groups, group_names }) =>
    Array.from(groups, (group) => group_names[group] ?? ''),
  );
  const distinctNames = [...new Set(groupNames)];
  const groupIndices = new Map(distinctNames.map((name, index) => [name, index]));
  return {
    indices: Int32Array.from(sources, (_, row) => row),
    names: pick(({ names }) => names),
    labels: pick(({ labels }) => labels),
    groups: Int32Array.from(groupNames, (name) => groupIndices.get(name) ?? 0),
    group_names: distinctNames,
    counts: Int32Array.from(pick(({ counts }) => counts)),
    sessions: parts.every(({ sessions }) => sessions)
      ? pick(({ sessions }) => sessions ?? [])
      : null,
    status: Uint8Array.from(pick(({ status }) => status)),
    start: Float64Array.from(pick(({ start }) => start)),
    end: Float64Array.from(pick(({ end }) => end)),
    last_logged: Float64Array.from(pick(({ last_logged }) => last_logged)),
    source: Uint8Array.from(pick(({ source }) => source)),
    studies: Int32Array.from(pick(({ studies }) => studies)),
    links: Object.assign({}, ...parts.map(({ links }) => links)) as SessionRows['links'],
  };
}

function joinHParam(
  parts: readonly (HParamCells | undefined)[],
  first: HParamCells,
  sources: readonly RowSource[],
): HParamCells {
  const categories = [...new Set(parts.flatMap((part) => part?.categories ?? []))];
  const indices = new Map(categories.map((word, index) => [word, index]));
  const states = new Uint8Array(sources.length);
  const values = Float64Array.from(sources, ({ part, at }, row) => {
    const cells = parts[part];
    const value = cells?.values[at];
    if (!cells || value === undefined) {
      states[row] = MISSING_CELL;
      return NaN;
    }
    const state = (states[row] = cells.states?.[at] ?? 0);
    return state === TEXT_CELL ? (indices.get(cells.categories[value] ?? '') ?? NaN) : value;
  });
  return {
    ...first,
    categories,
    values,
    states: states.some((state) => state > 0) ? states : null,
  };
}

function joinMetric(
  parts: readonly (MetricCells | undefined)[],
  first: MetricCells,
  sources: readonly RowSource[],
): MetricCells {
  const pick = (name: 'values' | 'steps' | 'deviation'): Float64Array =>
    Float64Array.from(sources, ({ part, at }) => parts[part]?.[name]?.[at] ?? NaN);
  const deviation = parts.some((cells) => cells?.deviation) ? pick('deviation') : null;
  return { ...first, values: pick('values'), steps: pick('steps'), deviation };
}
