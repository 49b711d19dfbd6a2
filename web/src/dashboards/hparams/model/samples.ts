import { type Column, makeSessions, type Sessions } from './column';

/** Columns as tests write them: numbers, or words; null where there is no value. */
export function columnOf(
  key: string,
  values: readonly (number | string | null)[],
  kind: Column['kind'] = 'hparam',
): Column {
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
  const common = { title: key, description: '', meaning: 'value', differs: true } as const;
  return { ...common, key, kind, numbers, words, missing };
}

export function sessionsOf(...columns: Column[]): Sessions {
  const names = Array.from(columns[0]?.numbers ?? [], (_, row) => `s${row}`);
  return makeSessions(
    names,
    names.map((name) => [name]),
    columns,
  );
}
