/** Join responses with some rows of a large table into one. */
import type { HParamCells, MetricCells, SessionRows, SessionsResponse } from '../../../api/schemas';
import { MISSING_CELL, TEXT_CELL } from './trials-response';

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
