import { type TrialColumn, makeTrials, type Trials } from './trials';

/** Make a column for a test from numbers or categories; null is a missing value. */
export function makeColumn(
  key: string,
  values: readonly (number | string | null)[],
  kind: TrialColumn['kind'] = 'hparam',
): TrialColumn {
  const isText = values.some((value) => typeof value === 'string');
  const categories = isText
    ? [...new Set(values.filter((value) => typeof value === 'string'))].sort()
    : null;
  const missingMask = values.includes(null)
    ? Uint8Array.from(values, (value) => +(value === null))
    : null;
  const numbers = Float64Array.from(values, (value) => {
    if (typeof value === 'string') return categories?.indexOf(value) ?? NaN;
    return value ?? NaN;
  });
  const base = { title: key, description: '', format: 'value', varies: true } as const;
  return { ...base, key, kind, values: numbers, categories, missingMask };
}

export function makeTrialsOf(...columns: TrialColumn[]): Trials {
  const names = Array.from(columns[0]?.values ?? [], (_, row) => `trial-${row}`);
  return makeTrials(
    names,
    names.map((name) => [name]),
    columns,
  );
}
