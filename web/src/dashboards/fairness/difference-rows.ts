/** Rows of the tables and lists: a slice and a metric with its value, baseline and difference. */
import type { ColumnRow, DifferenceResponse, ResultResponse } from '../../api/schemas';
import { formatValue } from '../../lib/format';
import * as m from '../../catalog/fairness';
import { getCell, type Interval, type Judgment, judgeDifference } from './evaluation-model';

export interface DifferenceRow {
  readonly slice: string;
  readonly sliceAt: number;
  /** Position in the result. */
  readonly columnAt: number;
  readonly column: ColumnRow;
  readonly count: number;
  readonly cell: Interval;
  readonly baseline: number;
  readonly difference: Interval;
  readonly relative: Interval;
  readonly adjustedPValue: number;
  readonly judgment: Judgment;
}

/** Return the row of a slice and of a column by its position in the difference. */
export function makeDifferenceRow(
  result: ResultResponse,
  differences: DifferenceResponse,
  sliceAt: number,
  position: number,
): DifferenceRow | null {
  const columnAt = differences.columns[position] ?? -1;
  const column = result.columns[columnAt];
  const slice = result.slices[sliceAt];
  if (!column || slice === undefined) return null;
  const at = sliceAt * differences.columns.length + position;
  const pick = (value: Float64Array, lower: Float64Array, upper: Float64Array): Interval => ({
    value: value[at] ?? NaN,
    lower: lower[at] ?? NaN,
    upper: upper[at] ?? NaN,
  });
  const difference = pick(differences.difference, differences.lower, differences.upper);
  return {
    slice,
    sliceAt,
    columnAt,
    column,
    count: result.counts[sliceAt] ?? 0,
    cell: getCell(result, sliceAt, columnAt),
    baseline: differences.baseline_value[at] ?? NaN,
    difference,
    relative: pick(differences.relative, differences.relative_lower, differences.relative_upper),
    adjustedPValue: differences.adjusted_p_value[at] ?? NaN,
    judgment: judgeDifference(column.direction, difference.value),
  };
}

/** Return the rows of some slices, column by column. */
export function makeDifferenceRows(
  result: ResultResponse,
  differences: DifferenceResponse,
  slices: readonly number[],
): DifferenceRow[] {
  return differences.columns.flatMap((_, position) =>
    slices.flatMap((slice) => makeDifferenceRow(result, differences, slice, position) ?? []),
  );
}

export function formatInterval({ value, lower, upper }: Interval): string {
  if (Number.isNaN(lower) || Number.isNaN(upper)) return formatValue(value, 3);
  return m.valueWithInterval({
    value: formatValue(value, 3),
    lower: formatValue(lower, 3),
    upper: formatValue(upper, 3),
  });
}

/** A signed difference with its interval. */
export function formatDifference({ value, lower, upper }: Interval): string {
  if (Number.isNaN(lower) || Number.isNaN(upper)) return formatSigned(value);
  return m.valueWithInterval({
    value: formatSigned(value),
    lower: formatSigned(lower),
    upper: formatSigned(upper),
  });
}

export function formatRelative({ value, lower, upper }: Interval): string {
  if (Number.isNaN(lower) || Number.isNaN(upper)) return formatPercent(value);
  return m.valueWithInterval({
    value: formatPercent(value),
    lower: formatPercent(lower),
    upper: formatPercent(upper),
  });
}

export function formatSigned(value: number): string {
  return value > 0 ? `+${formatValue(value, 3)}` : formatValue(value, 3);
}

export function formatPercent(value: number): string {
  if (!Number.isFinite(value)) return '–';
  const percent = 100 * value;
  return `${formatSigned(Number(percent.toFixed(Math.abs(percent) < 10 ? 1 : 0)))} %`;
}

export function formatPValue(value: number): string {
  if (Number.isNaN(value)) return '–';
  return value < 0.001 ? '< 0.001' : formatValue(Number(value.toFixed(3)));
}

export const JUDGMENT_LABELS: Readonly<Record<Judgment, string>> = {
  better: m.judgmentBetter,
  worse: m.judgmentWorse,
  neutral: m.judgmentNeutral,
};
