import { type TrialColumn, makeTrials, type Trials } from './trials';

/** Columns as tests write them: numbers, or words; null where there is no value. */
export function makeColumn(
  key: string,
  values: readonly (number | string | null)[],
  kind: TrialColumn['kind'] = 'hparam',
): TrialColumn {
  const isText = values.some((value) => typeof value === 'string');
  const words = isText
    ? [...new Set(values.filter((value) => typeof value === 'string'))].sort()
    : null;
  const missing = values.includes(null)
    ? Uint8Array.from(values, (value) => +(value === null))
    : null;
  const numbers = Float64Array.from(values, (value) => {
    if (typeof value === 'string') return words?.indexOf(value) ?? NaN;
    return value ?? NaN;
  });
  const common = { title: key, description: '', format: 'value', varies: true } as const;
  return { ...common, key, kind, values: numbers, categories: words, missingMask: missing };
}

export function makeTrialsOf(...columns: TrialColumn[]): Trials {
  const names = Array.from(columns[0]?.values ?? [], (_, row) => `s${row}`);
  return makeTrials(
    names,
    names.map((name) => [name]),
    columns,
  );
}
