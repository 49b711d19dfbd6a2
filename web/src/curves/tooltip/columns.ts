import { formatDuration, formatMoment, formatStep, formatValue } from '../../base/format';
import type { TipRow } from './rows';

export type TipColumn = 'smoothed' | 'value' | 'low' | 'high' | 'step' | 'relative' | 'time';

export const COLUMN_NAMES: Readonly<Record<TipColumn, string>> = {
  smoothed: 'smooth',
  value: 'value',
  low: 'low',
  high: 'high',
  step: 'step',
  relative: 'relative',
  time: 'time',
};

/** Columns that can be added. */
export const MORE_COLUMNS = ['step', 'relative', 'time'] as const;

/** Which columns say something here. Steps are told where runs have no point at the same one. */
export function columnsOf(rows: readonly TipRow[], chosen: readonly string[]): TipColumn[] {
  const steps = new Set(rows.flatMap(({ step }) => step ?? []));
  const wanted: Readonly<Record<TipColumn, boolean>> = {
    smoothed: rows.some(({ smoothed }) => smoothed !== null),
    value: true,
    low: rows.some(({ low }) => low !== null),
    high: rows.some(({ high }) => high !== null),
    step: chosen.includes('step') || steps.size > 1,
    relative: chosen.includes('relative'),
    time: chosen.includes('time'),
  };
  return (Object.keys(wanted) as TipColumn[]).filter((column) => wanted[column]);
}

export function cellsOf(row: TipRow, columns: readonly TipColumn[]): string[] {
  return columns.map((column) => CELLS[column](row));
}

const number = (value: number | null): string => (value === null ? '' : formatValue(value));

const CELLS: Readonly<Record<TipColumn, (row: TipRow) => string>> = {
  smoothed: ({ smoothed }) => number(smoothed),
  value: ({ value }) => number(value),
  low: ({ low }) => number(low),
  high: ({ high }) => number(high),
  step: ({ step }) => (step === null ? '' : formatStep(step)),
  relative: ({ relativeS }) => (relativeS === null ? '' : formatDuration(relativeS)),
  time: ({ wallTime }) => (wallTime === null ? '' : formatMoment(new Date(wallTime * 1000))),
};
