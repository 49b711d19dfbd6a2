/** What a number in a column means to a reader. */
export type Meaning = 'value' | 'time' | 'duration';

/** Something that is known of every session: a hyperparameter, a metric, or about the session itself. */
export interface Column {
  /** `hparam:lr`, `metric:validation/accuracy`, `status`. */
  readonly key: string;
  readonly kind: 'hparam' | 'metric' | 'about';
  readonly title: string;
  readonly description: string;
  readonly meaning: Meaning;
  /** One a session: the value or, where there are words, the place among them; NaN for neither. */
  readonly numbers: Float64Array;
  /** In the order of their axis; null where the values are numbers. */
  readonly words: readonly string[] | null;
  /** 1 where nothing was logged; null where something was everywhere. */
  readonly missing: Uint8Array | null;
  /** How far repeats that are one row lie apart. */
  readonly deviation?: Float64Array | null;
  /** The order of the sessions, where it is not that of the numbers. */
  readonly ranks?: () => Float64Array;
  /** Whether it has more than one value. */
  readonly differs: boolean;
}

/** The sessions of a log, in columns. */
export interface Sessions {
  readonly count: number;
  readonly names: readonly string[];
  /** The runs that each is made of. */
  readonly runs: readonly (readonly string[])[];
  readonly columns: readonly Column[];
  find(key: string): Column | undefined;
}

export function makeSessions(
  names: readonly string[],
  runs: readonly (readonly string[])[],
  columns: readonly Column[],
): Sessions {
  const byKey = new Map(columns.map((column) => [column.key, column]));
  return { count: names.length, names, runs, columns, find: (key) => byKey.get(key) };
}

export function hasValue({ missing, words, numbers }: Column, row: number): boolean {
  if (missing) return missing[row] === 0;
  return words === null || !Number.isNaN(numbers[row]);
}

/** The value as text that can be read back; null where there is none. */
export function rawText(column: Column, row: number): string | null {
  if (!hasValue(column, row)) return null;
  const number = column.numbers[row] ?? NaN;
  return column.words ? (column.words[number] ?? '') : String(number);
}

/** The finite numbers of a column, rising. */
export function sortedNumbers({ numbers }: Column): Float64Array {
  return numbers.filter(Number.isFinite).sort();
}

/** The values that occur, rising, unless there are more than `most`. */
export function distinctNumbers(column: Column, most: number): readonly number[] | null {
  const seen = new Set<number>();
  for (const value of column.numbers) {
    if (!Number.isFinite(value)) continue;
    seen.add(value);
    if (seen.size > most) return null;
  }
  return [...seen].sort((a, b) => a - b);
}
