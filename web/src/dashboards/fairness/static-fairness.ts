/** Evaluations of a static export, which has the results and their differences to one baseline. */
import type {
  DifferenceRequest,
  DifferenceResponse,
  EvaluationsResponse,
  PlotsResponse,
  ResultResponse,
} from '../../api/schemas';
import type { ExportContents, StaticHandlers } from '../../api/static/static-transport';
import { encodeQuery } from '../../api/transport';
import { selectDifferences } from './differences';
import { getCell, getDefaultBaseline, type Interval } from './evaluation-model';
import { computeDifferences } from './static-differences';

const API_PATH = 'api/v1/fairness/';
const UNKNOWN: Interval = { value: NaN, lower: NaN, upper: NaN };

export const fairnessHandlers: StaticHandlers = {
  'POST fairness/difference': async (request, contents) => {
    const result = await readResult(contents, request.id, request.model);
    const all = await readDifferences(contents, request, result);
    return selectDifferences(all, result, request);
  },
  'POST fairness/plots': async ({ id, model, slices, output }, contents) => {
    const path = makePath('plots', id, model);
    if (!contents.has(path)) return { plots: [], confusion: [], missing: slices, exact: false };
    const all = (await contents.read(path)) as PlotsResponse;
    const isWanted = ({ slice }: { slice: number }): boolean => slices.includes(slice);
    const confusion = all.confusion.filter(isWanted);
    const plots = all.plots.filter(isWanted);
    const found = new Set([...plots, ...confusion].map(({ slice }) => slice));
    return {
      plots: plots.filter((row) => !output || row.output === output),
      confusion,
      missing: slices.filter((slice) => !found.has(slice)),
      exact: all.exact,
    };
  },
  'POST fairness/history': async (request, contents) => {
    const { run, tag, metric, slices, threshold = null, output = null } = request;
    const list = (await readAny(contents, `${API_PATH}evaluations`)) as EvaluationsResponse;
    const rows = list.evaluations
      .filter((row) => row.run === run && row.tag === tag && row.step !== null)
      .sort((one, other) => (one.step ?? 0) - (other.step ?? 0));
    const results = await Promise.all(rows.map(({ id }) => readResult(contents, id, null)));
    const series = slices.map((slice) => {
      const cells = results.map((result) => {
        const at = result.slices.indexOf(slice);
        const column = result.columns.findIndex(
          (one) => one.metric === metric && one.threshold === threshold && one.output === output,
        );
        const isKnown = at >= 0 && column >= 0;
        const cell = isKnown ? getCell(result, at, column) : UNKNOWN;
        return { ...cell, count: at >= 0 ? (result.counts[at] ?? 0) : 0 };
      });
      return {
        slice,
        value: Float64Array.from(cells, ({ value }) => value),
        lower: Float64Array.from(cells, ({ lower }) => lower),
        upper: Float64Array.from(cells, ({ upper }) => upper),
        count: Float64Array.from(cells, ({ count }) => count),
      };
    });
    return {
      cursor: '',
      steps: Float64Array.from(rows, ({ step }) => step ?? NaN),
      wall_time: Float64Array.from(rows, ({ wall_time }) => wall_time ?? NaN),
      ids: rows.map(({ id }) => id),
      series,
      problems: [],
    };
  },
};

function makePath(name: string, id: string, model: string | null | undefined): string {
  return `${API_PATH}${name}?${encodeQuery({ id, model })}`;
}

async function readAny(contents: ExportContents, path: string): Promise<unknown> {
  return contents.head.responses[path] ?? contents.read(path);
}

function readResult(
  contents: ExportContents,
  id: string,
  model: string | null | undefined,
): Promise<ResultResponse> {
  return readAny(contents, makePath('result', id, model)) as Promise<ResultResponse>;
}

async function readDifferences(
  contents: ExportContents,
  request: DifferenceRequest,
  result: ResultResponse,
): Promise<DifferenceResponse> {
  const { id, model, other, other_model, baseline = '' } = request;
  if (other) {
    const second = await readResult(contents, other, other_model);
    const rows = new Map(second.slices.map((name, at) => [name, at]));
    const columns = new Map(second.columns.map((column, at) => [makeColumnKey(column), at]));
    return computeDifferences(result, {
      slice: -1,
      getValue: (slice, column) => {
        const row = rows.get(result.slices[slice] ?? '') ?? -1;
        const at = columns.get(makeColumnKey(result.columns[column])) ?? -1;
        return row < 0 || at < 0 ? UNKNOWN : getCell(second, row, at);
      },
    });
  }
  // Exported if the replicates of the evaluation were too many.
  const path = makePath('difference', id, model);
  if (baseline === getDefaultBaseline(result) && contents.has(path)) {
    return (await contents.read(path)) as DifferenceResponse;
  }
  const at = result.slices.indexOf(baseline);
  return computeDifferences(result, {
    slice: at,
    getValue: (_, column) => getCell(result, at, column),
  });
}

function makeColumnKey(column: ResultResponse['columns'][number] | undefined): string {
  return JSON.stringify([column?.metric, column?.threshold, column?.output]);
}
