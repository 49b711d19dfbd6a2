import { ServerError } from '../../api/errors';
import { makeNotExportedError, StaticApi } from '../../plugin/static-api';
import { LabelColumn } from './point-colors';
import type {
  ColumnResponse,
  EmbeddingInfo,
  JobStatus,
  LayoutResponse,
  NeighborsResponse,
  PointResponse,
  SearchResponse,
} from './schemas';

export type StaticDistanceMetric = 'euclidean' | 'cosine' | 'dot';

/** The nearest of a row, found by looking at every other; for the few rows that copies carry. */
export function computeNeighbors(
  vectors: Float32Array,
  dimensions: number,
  row: number,
  metric: StaticDistanceMetric,
  count: number,
): NeighborsResponse {
  const total = vectors.length / dimensions;
  const mine = vectors.subarray(row * dimensions, (row + 1) * dimensions);
  const distances = Float32Array.from({ length: total }, (_, other) =>
    computeDistance(mine, vectors.subarray(other * dimensions, (other + 1) * dimensions), metric),
  );
  const sign = metric === 'dot' ? -1 : 1;
  const order = Array.from(distances.keys())
    .filter((other) => other !== row && !Number.isNaN(distances[other]))
    .sort((a, b) => sign * ((distances[a] ?? 0) - (distances[b] ?? 0)))
    .slice(0, count);
  return {
    rows: Int32Array.from(order),
    distances: Float32Array.from(order, (other) => distances[other] ?? NaN),
    exact: true,
  };
}

function computeDistance(
  one: Float32Array,
  other: Float32Array,
  metric: StaticDistanceMetric,
): number {
  let [product, ones, others, square] = [0, 0, 0, 0];
  for (let at = 0; at < one.length; at++) {
    const [a, b] = [one[at] ?? 0, other[at] ?? 0];
    product += a * b;
    ones += a * a;
    others += b * b;
    square += (a - b) * (a - b);
  }
  if (metric === 'euclidean') return Math.sqrt(square);
  return metric === 'dot' ? product : 1 - product / Math.sqrt(ones * others || 1);
}

/** What a copy of a board carries of an embedding. */
export interface StaticEmbedding {
  readonly about: EmbeddingInfo;
  readonly columns: readonly ColumnResponse[];
  readonly layouts: readonly {
    readonly method: { readonly type: string };
    readonly rows: Int32Array | null;
    readonly places: readonly Float32Array[];
    readonly explained: readonly number[];
  }[];
  /** Row by row; null where they are too many. */
  readonly vectors: Float32Array | null;
}

/** Answers as the server would from what a copy of a board carries of its vectors. */
export class StaticProjectorApi extends StaticApi<StaticEmbedding> {
  async get<Answer>(path: string): Promise<Answer> {
    if (path === 'embeddings') return this.base.get(path);
    const [name = '', query = ''] = path.split('?');
    const asked = new URLSearchParams(query);
    // A job is named after the embedding and the method.
    const [id = '', method = ''] = (asked.get('id') ?? asked.get('job') ?? '').split(' ');
    const answer = findResponse(await this.getExported(id), name, asked, method);
    if (answer === undefined) throw makeNotExportedError();
    return answer as Answer;
  }

  async post<Answer>(path: string, body: unknown): Promise<Answer> {
    const asked = body as StaticRequest;
    const copy = await this.getExported(asked.id);
    if (path === 'project') return createJobStatus(copy, asked) as Answer;
    if (path === 'search') return searchLabels(copy, asked) as Answer;
    if (path === 'neighbours') return searchNeighbors(copy, asked) as Answer;
    throw makeNotExportedError();
  }
}

/** The fields of the asks that a copy can answer. */
interface StaticRequest {
  readonly id: string;
  readonly method: { readonly type: string; readonly dimensions?: number };
  readonly rows: string | null;
  readonly query: string;
  readonly regex: boolean;
  readonly column: string | null;
  readonly row: number;
  readonly metric: StaticDistanceMetric;
  readonly count: number;
}

function findResponse(
  copy: StaticEmbedding,
  name: string,
  asked: URLSearchParams,
  method: string,
): unknown {
  if (name === 'about') return copy.about;
  if (name === 'column') return copy.columns.find((column) => column.name === asked.get('name'));
  if (name === 'point') return createPointResponse(copy, Number(asked.get('row')));
  if (name !== 'layout') return undefined;
  return createLayoutResponse(copy, method, asked.getAll('axes').map(Number));
}

function findLayout(
  copy: StaticEmbedding,
  type: string,
): StaticEmbedding['layouts'][number] | undefined {
  return copy.layouts.find(({ method }) => method.type === type);
}

function createJobStatus(copy: StaticEmbedding, { method, rows, id }: StaticRequest): JobStatus {
  const layout = findLayout(copy, method.type);
  const isThere = layout && (method.dimensions ?? 0) <= layout.places.length;
  if (!isThere || rows !== null) throw makeNotExportedError();
  const job = `${id} ${method.type}`;
  return { job, state: 'done', doing: '', done: 1, total: 1, problem: '', frame: 1, device: 'cpu' };
}

function createLayoutResponse(
  copy: StaticEmbedding,
  type: string,
  axes: readonly number[],
): LayoutResponse | undefined {
  const layout = findLayout(copy, type);
  if (!layout) return undefined;
  const { rows, places, explained } = layout;
  const job = createJobStatus(copy, {
    id: copy.about.id,
    method: { type },
    rows: null,
  } as StaticRequest);
  const seen = axes.flatMap((axis) => places[axis] ?? []);
  return { job, rows, places: seen, explained, exact: true, notes: [] };
}

function createPointResponse(
  { about, columns, vectors }: StaticEmbedding,
  row: number,
): PointResponse {
  const cells = columns.map((column) => ({
    name: column.name,
    text: new LabelColumn(column).textAt(row),
  }));
  const { dimensions } = about;
  const vector = vectors?.subarray(row * dimensions, (row + 1) * dimensions) ?? new Float32Array();
  return { row, cells, vector, length: Math.hypot(...vector) };
}

function searchLabels(
  { columns, about }: StaticEmbedding,
  { query, regex, column }: StaticRequest,
): SearchResponse {
  const test = createMatcher(query, regex);
  const searched = columns
    .filter(({ name }) => column === null || name === column)
    .map((answer) => new LabelColumn(answer));
  const rows: number[] = [];
  for (let row = 0; row < about.rows; row++) {
    if (searched.some((labels) => test(labels.textAt(row)))) rows.push(row);
  }
  return { count: rows.length, rows: Int32Array.from(rows) };
}

function createMatcher(query: string, isRegex: boolean): (text: string) => boolean {
  if (!isRegex) {
    const wanted = query.toLowerCase();
    return (text) => text.toLowerCase().includes(wanted);
  }
  try {
    const expression = new RegExp(query, 'i');
    return (text) => expression.test(text);
  } catch {
    throw new ServerError(
      { message: `${query} is no regular expression.`, hint: 'Correct it.' },
      400,
    );
  }
}

function searchNeighbors(
  { about, vectors }: StaticEmbedding,
  asked: StaticRequest,
): NeighborsResponse {
  if (!vectors) throw makeNotExportedError();
  const { dimensions } = about;
  return computeNeighbors(vectors, dimensions, asked.row, asked.metric, asked.count);
}
