/** Where models disagree. */
import * as common from '../../../catalog/common';
import { formatValue } from '../../../lib/format';
import type { ConditionColumn } from '../slices';

export interface Disagreement {
  readonly row: number;
  /** The predicted class of each model. */
  readonly classes: readonly string[];
  /** Scores, or values of regression models; NaN if there are none. */
  readonly scores: readonly number[];
  /** Of the model whose score differs most from that of the first one. */
  readonly difference: number;
}

export interface ModelColumns {
  /** Predicted classes; null for regression. */
  readonly predicted: ConditionColumn | null;
  /** Scores or values; null for models with several classes. */
  readonly score: ConditionColumn | null;
}

/** Return the rows that models predict differently, the largest differences to the first one first. */
export function listDisagreements(
  rows: Int32Array,
  models: readonly ModelColumns[],
  limit: number,
): { readonly rows: readonly Disagreement[]; readonly count: number } {
  const found: Disagreement[] = [];
  const hasClasses = models.every(({ predicted }) => predicted !== null);
  const others = models.slice(1);
  const getScore = ({ score }: ModelColumns, at: number): number => score?.numbers?.[at] ?? NaN;
  for (let at = 0; at < rows.length; at++) {
    let [isDifferent, difference] = [false, NaN];
    for (const model of others) {
      const change = getScore(model, at) - (models[0] ? getScore(models[0], at) : NaN);
      if (Number.isNaN(difference) || Math.abs(change) > Math.abs(difference)) difference = change;
      isDifferent ||= hasClasses
        ? getCategory(model.predicted, at) !== getCategory(models[0]?.predicted ?? null, at)
        : Math.abs(change) > 0;
    }
    if (!isDifferent) continue;
    found.push({
      row: rows[at] ?? 0,
      classes: models.map(({ predicted }) => getCategory(predicted, at)),
      scores: models.map((model) => getScore(model, at)),
      difference,
    });
  }
  const size = ({ difference }: Disagreement): number =>
    Number.isNaN(difference) ? 0 : Math.abs(difference);
  found.sort((a, b) => size(b) - size(a) || a.row - b.row);
  return { rows: found.slice(0, limit), count: found.length };
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

/** Return a difference with its sign. */
export function formatChange(value: number): string {
  if (Number.isNaN(value)) return common.noValueSign;
  return `${value > 0 ? '+' : value < 0 ? '−' : ''}${formatValue(Math.abs(value))}`;
}
