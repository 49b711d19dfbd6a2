import type { Column } from './column';

/** What somebody said about which columns are seen, and in which order. */
export interface Wishes {
  readonly arranged: readonly string[];
  readonly hidden: readonly string[];
  readonly added: readonly string[];
}

/** So many are seen of themselves; the others can be added. */
const USUAL_HPARAMS = 10;
const USUAL_METRICS = 5;

/** The columns that are seen: hyperparameters that differ, then metrics, unless one wants others. */
export function shownColumns(
  columns: readonly Column[],
  { arranged, hidden, added }: Wishes,
  goalKey: string | null,
): Column[] {
  const isHidden = new Set(hidden);
  const usual = new Set([...usualKeys(columns), ...added, ...(goalKey ? [goalKey] : [])]);
  const seen = columns.filter(({ key }) => usual.has(key) && !isHidden.has(key));
  const places = new Map(arranged.map((key, place) => [key, place]));
  const placeOf = ({ key, kind }: Column, at: number): number =>
    places.get(key) ?? arranged.length + ORDER[kind] * columns.length + at;
  return seen
    .map((column, at) => ({ column, place: placeOf(column, at) }))
    .sort((one, other) => one.place - other.place)
    .map(({ column }) => column);
}

const ORDER = { hparam: 0, metric: 1, about: 2 } as const;

function usualKeys(columns: readonly Column[]): string[] {
  const hparams = columns.filter(({ kind }) => kind === 'hparam');
  const differing = hparams.filter(({ differs }) => differs);
  const metrics = columns.filter(({ kind }) => kind === 'metric');
  return [
    ...(differing.length > 0 ? differing : hparams).slice(0, USUAL_HPARAMS),
    ...metrics.slice(0, USUAL_METRICS),
  ].map(({ key }) => key);
}

/** The order of keys after one was put before another, or with null at the end. */
export function movedKeys(keys: readonly string[], moved: string, before: string | null): string[] {
  if (moved === before) return [...keys];
  const others = keys.filter((key) => key !== moved);
  const at = before === null ? -1 : others.indexOf(before);
  return at < 0 ? [...others, moved] : [...others.slice(0, at), moved, ...others.slice(at)];
}
