import { ask, postJson } from './client';
import type { WireNumber } from './types';

/** A hyperparameter over all runs; `values` are the first of them. */
export interface HParamColumn {
  readonly name: string;
  readonly type: 'number' | 'string' | 'bool';
  readonly distinct: number;
  readonly low: number | null;
  readonly high: number | null;
  readonly values: readonly Cell[];
}

export interface ColumnsThere {
  readonly hparams: readonly HParamColumn[];
  /** Tags of scalars, of which a column has the last, lowest or highest value. */
  readonly metrics: readonly string[];
}

/** The word that JSON lacks for a number, such as `NaN`, may stand where a number is meant. */
export type Cell = boolean | string | WireNumber | null;

/** Says which column is meant. */
export type ColumnKey = `hparam:${string}` | `${'last' | 'min' | 'max'}:${string}`;

export interface ColumnsAnswer {
  readonly runs: readonly string[];
  /** A value a run in the order of `runs`; null where a run has none. */
  readonly columns: Readonly<Record<string, readonly Cell[]>>;
}

export const getColumns = (signal?: AbortSignal): Promise<ColumnsThere> =>
  ask('api/v1/runs/columns', signal ? { signal } : {});

export function readColumns(
  columns: readonly ColumnKey[],
  signal?: AbortSignal,
): Promise<ColumnsAnswer> {
  return ask('api/v1/runs/columns', postJson({ columns }, signal));
}
