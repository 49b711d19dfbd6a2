/** Where two models disagree. */
import type { ConditionColumn } from '../slices';

export interface Disagreement {
  readonly row: number;
  readonly one: string;
  readonly other: string;
  /** Scores, or values of regression models; NaN if there are none. */
  readonly oneScore: number;
  readonly otherScore: number;
  readonly difference: number;
}

export interface ModelColumns {
  /** Predicted classes; null for regression. */
  readonly predicted: ConditionColumn | null;
  /** Scores or values; null for models with several classes. */
  readonly score: ConditionColumn | null;
}

/** Return the rows that two models predict differently, the largest differences first. */
export function listDisagreements(
  rows: Int32Array,
  one: ModelColumns,
  other: ModelColumns,
  limit: number,
): { readonly rows: readonly Disagreement[]; readonly count: number } {
  const found: Disagreement[] = [];
  let count = 0;
  for (let at = 0; at < rows.length; at++) {
    const [first, second] = [getCategory(one.predicted, at), getCategory(other.predicted, at)];
    const oneScore = one.score?.numbers?.[at] ?? NaN;
    const otherScore = other.score?.numbers?.[at] ?? NaN;
    const difference = otherScore - oneScore;
    const hasClasses = one.predicted !== null && other.predicted !== null;
    if (hasClasses && first !== second) count++;
    if (hasClasses ? first === second : !(Math.abs(difference) > 0)) continue;
    if (!hasClasses) count++;
    found.push({
      row: rows[at] ?? 0,
      one: first,
      other: second,
      oneScore,
      otherScore,
      difference,
    });
  }
  const size = ({ difference }: Disagreement): number =>
    Number.isNaN(difference) ? 0 : Math.abs(difference);
  found.sort((a, b) => size(b) - size(a) || a.row - b.row);
  return { rows: found.slice(0, limit), count };
}

/** Return how often each class of one model is predicted as each class of the other. */
export function countFlips(
  one: ConditionColumn,
  other: ConditionColumn,
): { readonly classes: readonly string[]; readonly weight: number[] } {
  const classes = [...new Set([...one.categories, ...other.categories])].sort((a, b) =>
    a.localeCompare(b, undefined, { numeric: true }),
  );
  const weight = new Array<number>(classes.length ** 2).fill(0);
  const places = new Map(classes.map((name, at) => [name, at]));
  for (let at = 0; at < (one.codes?.length ?? 0); at++) {
    const row = places.get(getCategory(one, at));
    const column = places.get(getCategory(other, at));
    if (row === undefined || column === undefined) continue;
    const place = row * classes.length + column;
    weight[place] = (weight[place] ?? 0) + 1;
  }
  return { classes, weight };
}

function getCategory(column: ConditionColumn | null, at: number): string {
  return column?.categories[column.codes?.[at] ?? -1] ?? '';
}
