import type { JsonNumber } from './schemas';

/** The binary form of answers; `tracklight/server/responses.py` says how it is laid out. */

export const COLUMNS_MEDIA_TYPE = 'application/vnd.tracklight.columns';

/** What arrays in an answer become. Whole numbers of 64 bits come as floating point. */
export type TypedColumn = Float32Array | Float64Array | Int32Array | Uint8Array;

const MAGIC = 0x31434c54; // "TLC1", little endian
const HEADER_OFFSET = 8;

type ColumnReader = (buffer: ArrayBuffer, offset: number, length: number) => TypedColumn;

const COLUMN_READERS: Readonly<Record<string, ColumnReader>> = {
  f4: (buffer, offset, length) => new Float32Array(buffer, offset, length),
  f8: (buffer, offset, length) => new Float64Array(buffer, offset, length),
  i4: (buffer, offset, length) => new Int32Array(buffer, offset, length),
  i8: (buffer, offset, length) =>
    Float64Array.from(new BigInt64Array(buffer, offset, length), Number),
  u1: (buffer, offset, length) => new Uint8Array(buffer, offset, length),
};

/** The answer with typed arrays, which are views of `buffer`, where columns stand. */
export function decodeColumns(buffer: ArrayBuffer): unknown {
  const view = new DataView(buffer);
  if (buffer.byteLength < HEADER_OFFSET || view.getUint32(0, true) !== MAGIC) {
    throw new Error('This is no answer in columns.');
  }
  const body = HEADER_OFFSET + view.getUint32(4, true);
  const header = new TextDecoder().decode(
    new Uint8Array(buffer, HEADER_OFFSET, body - HEADER_OFFSET),
  );
  return revive(JSON.parse(header), (dtype, offset, length) => {
    const read = COLUMN_READERS[dtype];
    if (read === undefined) throw new Error(`A column cannot be of type ${dtype}.`);
    return read(buffer, body + offset, length);
  });
}

type MakeColumn = (dtype: string, offset: number, length: number) => TypedColumn;

/** Puts columns in their places, in the fresh value itself rather than in a copy. */
function revive(value: unknown, make: MakeColumn): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at += 1) value[at] = revive(value[at], make);
    return value;
  }
  const fields = value as Record<string, unknown>;
  if (isColumnReference(fields)) return make(...fields.$column);
  for (const name of Object.keys(fields)) fields[name] = revive(fields[name], make);
  return fields;
}

interface ColumnReference {
  readonly $column: readonly [dtype: string, offset: number, length: number];
}

function isColumnReference(fields: object): fields is ColumnReference {
  return '$column' in fields && Array.isArray(fields.$column) && Object.keys(fields).length === 1;
}

/** A number as it came over the wire; null where there is none. */
export function parseJsonNumber(value: JsonNumber | null | undefined): number | null {
  return value === null || value === undefined ? null : Number(value);
}

export function parseJsonNumbers(
  values: readonly (JsonNumber | null)[] | undefined,
): readonly (number | null)[] {
  return values?.map(parseJsonNumber) ?? [];
}

/** Seconds since 1970 as a date; null where they say nothing. */
export function parseTimestamp(seconds: JsonNumber | null | undefined): Date | null {
  const value = parseJsonNumber(seconds);
  const date = new Date(value === null ? NaN : value * 1000);
  return Number.isNaN(date.getTime()) ? null : date;
}
