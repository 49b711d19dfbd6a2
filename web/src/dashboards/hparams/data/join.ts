import type { HParamAnswer, MetricAnswer, RowsAnswer, SessionsAnswer } from './answers';

type Floats = Float64Array<ArrayBuffer> | Float64Array;

/** What was known with what has changed since put in its place. */
export function joinAnswers(known: SessionsAnswer, news: SessionsAnswer): SessionsAnswer {
  const { at } = news.rows;
  const count = at.reduce((most, row) => Math.max(most, row + 1), known.rows.names.length);
  if (at.length === 0 && hasSameColumns(known, news)) return { ...known, revision: news.revision };
  return {
    ...news,
    rows: joinRows(known.rows, news.rows, count),
    hparams: news.hparams.map((hparam) =>
      joinHParam(
        known.hparams.find(({ key }) => key === hparam.key),
        hparam,
        at,
        count,
      ),
    ),
    metrics: news.metrics.map((metric) =>
      joinMetric(
        known.metrics.find(({ key }) => key === metric.key),
        metric,
        at,
        count,
      ),
    ),
  };
}

function hasSameColumns(known: SessionsAnswer, news: SessionsAnswer): boolean {
  return (
    known.hparams.length === news.hparams.length && known.metrics.length === news.metrics.length
  );
}

function joinRows(known: RowsAnswer, news: RowsAnswer, count: number): RowsAnswer {
  const { at } = news;
  const floats = (name: 'start' | 'end' | 'last'): Float64Array =>
    joinFloats(known[name], news[name], at, count);
  return {
    at: Int32Array.from({ length: count }, (_, row) => row),
    names: joinList(known.names, news.names, at),
    labels: joinList(known.labels, news.labels, at),
    groups: Int32Array.from(joinFloats(known.groups, news.groups, at, count)),
    group_names: news.group_names,
    counts: Int32Array.from(joinFloats(known.counts, news.counts, at, count)),
    sessions: known.sessions && news.sessions && joinList(known.sessions, news.sessions, at),
    status: Uint8Array.from(joinFloats(known.status, news.status, at, count)),
    start: floats('start'),
    end: floats('end'),
    last: floats('last'),
  };
}

const MISSING = 1;
const TEXT = 2;

function joinHParam(
  known: HParamAnswer | undefined,
  news: HParamAnswer,
  at: Int32Array,
  count: number,
): HParamAnswer {
  const before = known ? statesOf(known) : new Uint8Array();
  const states = Uint8Array.from(joinFloats(before, statesOf(news), at, count, MISSING));
  const values = joinFloats(known ? renamed(known, news.words) : [], news.values, at, count);
  return { ...news, values, states: states.some((state) => state !== 0) ? states : null };
}

function statesOf({ states, values }: HParamAnswer): Uint8Array {
  return states ?? new Uint8Array(values.length);
}

/** Places among the words of then as places among the words of now. */
function renamed({ values, states, words }: HParamAnswer, now: readonly string[]): Floats {
  if (!states) return values;
  const places = words.map((word) => now.indexOf(word));
  return values.map((value, row) => (states[row] === TEXT ? (places[value] ?? NaN) : value));
}

function joinMetric(
  known: MetricAnswer | undefined,
  news: MetricAnswer,
  at: Int32Array,
  count: number,
): MetricAnswer {
  return {
    ...news,
    values: joinFloats(known?.values ?? [], news.values, at, count),
    steps: joinFloats(known?.steps ?? [], news.steps, at, count),
    deviation: news.deviation && joinFloats(known?.deviation ?? [], news.deviation, at, count),
  };
}

function joinFloats(
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

function joinList<Item>(known: readonly Item[], news: readonly Item[], at: Int32Array): Item[] {
  const joined = [...known];
  at.forEach((row, place) => (joined[row] = news[place] as Item));
  return joined;
}
