import { ApiError } from '../../../api/client';
import { CopiedApi, notCopied } from '../../../plugin/copied';
import type {
  AboutAnswer,
  ColumnAnswer,
  JobRow,
  LayoutAnswer,
  NeighboursAnswer,
  PointAnswer,
  SearchAnswer,
} from './answers';
import { Labels } from './labels';
import { findNearest, type Metric } from './nearest';

/** What a copy of a board carries of an embedding. */
export interface CopyAnswer {
  readonly about: AboutAnswer;
  readonly columns: readonly ColumnAnswer[];
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
export class CopyApi extends CopiedApi<CopyAnswer> {
  async get<Answer>(path: string): Promise<Answer> {
    if (path === 'embeddings') return this.door.get(path);
    const [name = '', query = ''] = path.split('?');
    const asked = new URLSearchParams(query);
    // A job is named after the embedding and the method.
    const [id = '', method = ''] = (asked.get('id') ?? asked.get('job') ?? '').split(' ');
    const answer = answerOf(await this.copyOf(id), name, asked, method);
    if (answer === undefined) throw notCopied();
    return answer as Answer;
  }

  async post<Answer>(path: string, body: unknown): Promise<Answer> {
    const asked = body as Asked;
    const copy = await this.copyOf(asked.id);
    if (path === 'project') return jobOf(copy, asked) as Answer;
    if (path === 'search') return search(copy, asked) as Answer;
    if (path === 'neighbours') return neighbours(copy, asked) as Answer;
    throw notCopied();
  }
}

/** The fields of the asks that a copy can answer. */
interface Asked {
  readonly id: string;
  readonly method: { readonly type: string; readonly dimensions?: number };
  readonly rows: string | null;
  readonly query: string;
  readonly regex: boolean;
  readonly column: string | null;
  readonly row: number;
  readonly metric: Metric;
  readonly count: number;
}

function answerOf(copy: CopyAnswer, name: string, asked: URLSearchParams, method: string): unknown {
  if (name === 'about') return copy.about;
  if (name === 'column') return copy.columns.find((column) => column.name === asked.get('name'));
  if (name === 'point') return pointOf(copy, Number(asked.get('row')));
  if (name !== 'layout') return undefined;
  return layoutOf(copy, method, asked.getAll('axes').map(Number));
}

function findLayout(copy: CopyAnswer, type: string): CopyAnswer['layouts'][number] | undefined {
  return copy.layouts.find(({ method }) => method.type === type);
}

function jobOf(copy: CopyAnswer, { method, rows, id }: Asked): JobRow {
  const layout = findLayout(copy, method.type);
  const isThere = layout && (method.dimensions ?? 0) <= layout.places.length;
  if (!isThere || rows !== null) throw notCopied();
  const job = `${id} ${method.type}`;
  return { job, state: 'done', doing: '', done: 1, total: 1, problem: '', frame: 1, device: 'cpu' };
}

function layoutOf(
  copy: CopyAnswer,
  type: string,
  axes: readonly number[],
): LayoutAnswer | undefined {
  const layout = findLayout(copy, type);
  if (!layout) return undefined;
  const { rows, places, explained } = layout;
  const job = jobOf(copy, { id: copy.about.id, method: { type }, rows: null } as Asked);
  const seen = axes.flatMap((axis) => places[axis] ?? []);
  return { job, rows, places: seen, explained, exact: true, notes: [] };
}

function pointOf({ about, columns, vectors }: CopyAnswer, row: number): PointAnswer {
  const cells = columns.map((column) => ({ name: column.name, text: new Labels(column).of(row) }));
  const { dimensions } = about;
  const vector = vectors?.subarray(row * dimensions, (row + 1) * dimensions) ?? new Float32Array();
  return { row, cells, vector, length: Math.hypot(...vector) };
}

function search({ columns, about }: CopyAnswer, { query, regex, column }: Asked): SearchAnswer {
  const test = testOf(query, regex);
  const searched = columns
    .filter(({ name }) => column === null || name === column)
    .map((answer) => new Labels(answer));
  const rows: number[] = [];
  for (let row = 0; row < about.rows; row++) {
    if (searched.some((labels) => test(labels.of(row)))) rows.push(row);
  }
  return { count: rows.length, rows: Int32Array.from(rows) };
}

function testOf(query: string, isRegex: boolean): (text: string) => boolean {
  if (!isRegex) {
    const wanted = query.toLowerCase();
    return (text) => text.toLowerCase().includes(wanted);
  }
  try {
    const expression = new RegExp(query, 'i');
    return (text) => expression.test(text);
  } catch {
    throw new ApiError({ message: `${query} is no regular expression.`, hint: 'Correct it.' }, 400);
  }
}

function neighbours({ about, vectors }: CopyAnswer, asked: Asked): NeighboursAnswer {
  if (!vectors) throw notCopied();
  const { dimensions } = about;
  return findNearest(vectors, dimensions, asked.row, asked.metric, asked.count);
}
