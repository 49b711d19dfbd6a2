import { NotExportedError, ServerError } from '../../api/errors';
import type {
  DistanceMetric,
  JobStatus,
  NeighborsResponse,
  PointResponse,
  ProjectionRequest,
  ProjectorLayoutResponse,
  ProjectorSearchRequest,
  ProjectorSearchResponse,
  StaticEmbedding,
  StaticLayout,
} from '../../api/schemas';
import type { ExportContents, StaticHandlers } from '../../api/static/static-transport';
import * as common from '../../catalog/common';
import { LabelColumn } from './label-columns';

/** A static export has the labels, some layouts and, of small embeddings, the vectors. */
export const projectorHandlers: StaticHandlers = {
  'GET projector/about': async ({ id }, contents) => (await readEmbedding(contents, id)).info,
  'GET projector/column': async ({ id, name }, contents) => {
    const { columns } = await readEmbedding(contents, id);
    return columns.find((column) => column.name === name) ?? failNotExported();
  },
  'GET projector/point': async ({ id, row = 0 }, contents) =>
    makePointResponse(await readEmbedding(contents, id), row),
  'POST projector/project': async (request, contents) =>
    makeJobStatus(await readEmbedding(contents, request.id), request),
  'GET projector/layout': async ({ job, axes }, contents) => {
    const [id = '', type = ''] = job.split(JOB_SEPARATOR);
    return makeLayoutResponse(await readEmbedding(contents, id), type, axes ?? [0, 1, 2]);
  },
  'POST projector/search': async (request, contents) =>
    searchLabels(await readEmbedding(contents, request.id), request),
  'POST projector/neighbors': async (request, contents) => {
    const { info, vectors } = await readEmbedding(contents, request.id);
    const { row, metric = 'cosine', count = 100 } = request;
    if (!vectors || row === null || row === undefined) return failNotExported();
    return findNeighbors(vectors, info.dimensions, row, metric, count);
  },
};

/** Jobs are named after the embedding and the method. */
const JOB_SEPARATOR = ' ';

async function readEmbedding(contents: ExportContents, id: string): Promise<StaticEmbedding> {
  return (await contents.read(`api/v1/projector/copy/${id}`)) as StaticEmbedding;
}

function failNotExported(): never {
  throw new NotExportedError();
}

function findLayout({ layouts }: StaticEmbedding, type: string): StaticLayout {
  return layouts.find(({ method }) => method.type === type) ?? failNotExported();
}

function makeJobStatus(embedding: StaticEmbedding, request: ProjectionRequest): JobStatus {
  const { method = { type: 'pca' }, rows = null } = request;
  const { coordinates } = findLayout(embedding, method.type);
  const dimensions = ('dimensions' in method ? method.dimensions : undefined) ?? 0;
  if (dimensions > coordinates.length || rows !== null) return failNotExported();
  return makeDoneStatus(embedding, method.type);
}

function makeDoneStatus({ info }: StaticEmbedding, type: string): JobStatus {
  return {
    job: info.id + JOB_SEPARATOR + type,
    state: 'done',
    stage: { code: '', text: '', args: {} },
    done: 1,
    total: 1,
    problem: null,
    frame: 1,
    device: 'cpu',
  };
}

function makeLayoutResponse(
  embedding: StaticEmbedding,
  type: string,
  axes: readonly number[],
): ProjectorLayoutResponse {
  const { rows, coordinates, explained_ratio } = findLayout(embedding, type);
  const shown = axes.flatMap((axis) => coordinates[axis] ?? []);
  const job = makeDoneStatus(embedding, type);
  return { job, rows, coordinates: shown, explained_ratio, is_exact: true, notes: [] };
}

function makePointResponse(
  { info, columns, vectors }: StaticEmbedding,
  row: number,
): PointResponse {
  const cells = columns.map((column) => ({
    name: column.name,
    text: new LabelColumn(column).textAt(row),
  }));
  const { dimensions } = info;
  const vector = vectors?.subarray(row * dimensions, (row + 1) * dimensions) ?? new Float32Array();
  return { row, cells, vector, length: Math.hypot(...vector) };
}

function searchLabels(
  { columns, info }: StaticEmbedding,
  { query = '', regex = false, column = null }: ProjectorSearchRequest,
): ProjectorSearchResponse {
  const matches = makeMatcher(query, regex);
  const searched = columns
    .filter(({ name }) => column === null || name === column)
    .map((response) => new LabelColumn(response));
  const rows: number[] = [];
  for (let row = 0; row < info.rows; row++) {
    if (searched.some((labels) => matches(labels.textAt(row)))) rows.push(row);
  }
  return { count: rows.length, rows: Int32Array.from(rows) };
}

function makeMatcher(query: string, isRegex: boolean): (text: string) => boolean {
  if (!isRegex) {
    const lowercase = query.toLowerCase();
    return (text) => text.toLowerCase().includes(lowercase);
  }
  try {
    const expression = new RegExp(query, 'i');
    return (text) => expression.test(text);
  } catch {
    const problem = { message: common.errorInvalidRegex({ query }), hint: common.errorFixRegex };
    throw new ServerError(problem, 400);
  }
}

/** Return the nearest rows of one row, by comparing it with all others. */
function findNeighbors(
  vectors: Float32Array,
  dimensions: number,
  row: number,
  metric: DistanceMetric,
  count: number,
): NeighborsResponse {
  const total = vectors.length / dimensions;
  const own = vectors.subarray(row * dimensions, (row + 1) * dimensions);
  const distances = Float32Array.from({ length: total }, (_, other) =>
    computeDistance(own, vectors.subarray(other * dimensions, (other + 1) * dimensions), metric),
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

function computeDistance(a: Float32Array, b: Float32Array, metric: DistanceMetric): number {
  let [product, squaresA, squaresB, squaredDistance] = [0, 0, 0, 0];
  for (let index = 0; index < a.length; index++) {
    const [x, y] = [a[index] ?? 0, b[index] ?? 0];
    product += x * y;
    squaresA += x * x;
    squaresB += y * y;
    squaredDistance += (x - y) * (x - y);
  }
  if (metric === 'euclidean') return Math.sqrt(squaredDistance);
  return metric === 'dot' ? product : 1 - product / Math.sqrt(squaresA * squaresB || 1);
}
