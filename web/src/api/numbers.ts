import type { WireNumber } from './types';

/** A number as it came over the wire; null where there is none. */
export function readNumber(value: WireNumber | null | undefined): number | null {
  return value === null || value === undefined ? null : Number(value);
}

export function readColumn(
  values: readonly (WireNumber | null)[] | undefined,
): readonly (number | null)[] {
  return values?.map(readNumber) ?? [];
}

/** Seconds since 1970 as a date; null where they say nothing. */
export function readTime(seconds: WireNumber | null | undefined): Date | null {
  const value = readNumber(seconds);
  const date = new Date(value === null ? NaN : value * 1000);
  return Number.isNaN(date.getTime()) ? null : date;
}
