/** What the server would return of a data set, for a static export: decisions, metrics and rows. */
import { NotExportedError } from '../../api/errors';
import type {
  ColumnValues,
  DataColumnsRequest,
  DataColumnsResponse,
  ModelInfo,
  PerformanceRequest,
  PerformanceResponse,
  RowResponse,
  SliceThresholds,
  StaticSession,
  StaticSlicing,
} from '../../api/schemas';
import { getOwn } from './feature-values';

const DEFAULT_THRESHOLD = 0.5;

/** Return columns, with the predicted classes of binary models at the requested thresholds. */
export function selectColumns(
  session: StaticSession,
  request: DataColumnsRequest,
): DataColumnsResponse {
  const { columns } = session;
  if (!columns) throw new NotExportedError();
  return { ...columns, columns: request.names.map((name) => decideColumn(session, name, request)) };
}

/** Return the metrics of a model for exported slices. */
export function selectPerformance(
  session: StaticSession,
  request: PerformanceRequest,
): PerformanceResponse {
  const model = request.model ?? session.about.models[0]?.name ?? '';
  const response = getOwn(findSlicing(session, request)?.performance, model);
  if (!response) throw new NotExportedError();
  return response;
}

function findColumn({ columns }: StaticSession, name: string): ColumnValues {
  const found = columns?.columns.find((one) => one.name === name);
  if (!found) throw new NotExportedError();
  return found;
}

/** The export has all decisions at the default threshold, and the scores. */
function decideColumn(
  session: StaticSession,
  name: string,
  { threshold = DEFAULT_THRESHOLD, slice_thresholds: slices = null }: DataColumnsRequest,
): ColumnValues {
  const exported = findColumn(session, name);
  const { columns, models } = session.about;
  const isComputed = columns.some((one) => one.name === name && one.is_computed);
  const model = isComputed ? models.find((one) => isDecision(name, one, models)) : undefined;
  const own = model && slices?.thresholds[model.name];
  if (!model || (threshold === DEFAULT_THRESHOLD && !own)) return exported;
  const suffix = models.length > 1 ? ` (${model.name})` : '';
  const scores = findColumn(session, `score${suffix}`).numbers ?? new Float64Array();
  const limits = own && slices ? getLimits(session, slices, own, threshold) : null;
  const decisions = Int32Array.from(scores, (score, row) =>
    Number.isNaN(score) ? -1 : Number(score >= (limits?.[row] ?? threshold)),
  );
  if (name === `predicted${suffix}`) return makeCategories(exported, decisions, model.class_names);
  const before = findColumn(session, `predicted${suffix}`);
  const codes = decisions.map((decision, row) => {
    const wasCorrect = exported.categories[exported.codes?.[row] ?? -1];
    const decided = model.class_names.indexOf(before.categories[before.codes?.[row] ?? -1] ?? '');
    if (decision < 0 || decided < 0 || wasCorrect === undefined) return -1;
    const label = wasCorrect === CORRECT[1] ? decided : 1 - decided;
    return Number(decision === label);
  });
  return makeCategories(exported, codes, CORRECT);
}

const CORRECT = ['incorrect', 'correct'] as const;

function isDecision(name: string, model: ModelInfo, models: readonly ModelInfo[]): boolean {
  const suffix = models.length > 1 ? ` (${model.name})` : '';
  return (
    model.class_names.length === 2 && (name === `predicted${suffix}` || name === `correct${suffix}`)
  );
}

/** Return a column without categories that do not occur. */
function makeCategories(
  column: ColumnValues,
  codes: Int32Array,
  categories: readonly string[],
): ColumnValues {
  const used = [...categories.keys()].filter((code) => codes.includes(code));
  const places = categories.map((_, code) => used.indexOf(code));
  return {
    ...column,
    codes: codes.map((code) => places[code] ?? -1),
    categories: used.map((code) => categories[code] ?? ''),
  };
}

/** Return the threshold of each row: that of its slice, or else that of all rows. */
function getLimits(
  session: StaticSession,
  slices: SliceThresholds,
  own: Readonly<Record<string, number>>,
  threshold: number,
): Float64Array {
  const slicing = findSlicing(session, slices);
  if (!slicing) throw new NotExportedError();
  const bySlice = slicing.slices.map((name) => getOwn(own, name) ?? threshold);
  return Float64Array.from(slicing.codes, (code) => bySlice[code] ?? threshold);
}

/** Return one row from the exported columns, with its predictions; images are not exported. */
export function makeRow(session: StaticSession, row: number): RowResponse {
  const { about, columns, lists, originals, scores } = session;
  const at = columns?.rows.indexOf(row) ?? -1;
  if (!columns || at < 0) throw new NotExportedError();
  const inputs = new Map(about.columns.map((column) => [column.name, column]));
  const loaded = originals[String(row)] ?? {};
  const values = columns.columns
    .filter(({ name }) => !inputs.get(name)?.is_computed)
    .map((column) => {
      const { name, type } = column;
      const isList = inputs.get(name)?.is_list ?? false;
      const value = isList ? (getOwn(lists, name)?.[at] ?? null) : getValue(column, at);
      return {
        ...{ name, type, value, original: Object.hasOwn(loaded, name) ? loaded[name] : value },
        is_list: isList,
        is_sequence: inputs.get(name)?.is_sequence ?? false,
        is_truncated: isList && type !== 'image' && type !== 'bytes' && !(name in lists),
        bytes: null,
        attributions: {},
      };
    });
  const known = about.models.flatMap(({ name: model }) => {
    const found = getOwn(scores, model);
    if (!found) return [];
    const width = found.values.length / columns.rows.length;
    const last = Array.from(found.values.slice(at * width, (at + 1) * width));
    const history = [...(found.earlier[String(row)] ?? []), last];
    return [{ model, class_names: found.class_names, history }];
  });
  return { version: about.version, row, values, scores: known };
}

function getValue(column: ColumnValues, at: number): string | number | null {
  if (column.codes) return column.categories[column.codes[at] ?? -1] ?? null;
  const number = column.numbers?.[at] ?? NaN;
  return Number.isNaN(number) ? null : number;
}

type Slices = Pick<PerformanceRequest, 'slice_by' | 'buckets' | 'model_thresholds'>;

function findSlicing(session: StaticSession, wanted: Slices): StaticSlicing | undefined {
  return session.slicings.find(
    (one) =>
      isEqual(one.slice_by, wanted.slice_by ?? []) &&
      isEqual(sortEntries(one.buckets), sortEntries(wanted.buckets ?? {})) &&
      isEqual(sortEntries(one.model_thresholds), sortEntries(wanted.model_thresholds ?? {})),
  );
}

function sortEntries(record: Readonly<Record<string, unknown>>): unknown {
  return Object.entries(record).sort(([one], [other]) => one.localeCompare(other));
}

function isEqual(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
