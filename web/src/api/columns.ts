/** Decode responses: binary columns, numbers and times. */
import * as common from '../catalog/common';
import type { JsonNumber } from './schemas';

/** Arrays of a response. 64-bit integers become floating-point numbers. */
type TypedColumn = Float32Array | Float64Array | Int32Array | Uint8Array;

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

/** Return a response with typed arrays, which are views of `buffer`. */
export function decodeColumns(buffer: ArrayBuffer): unknown {
  const view = new DataView(buffer);
  if (buffer.byteLength < HEADER_OFFSET || view.getUint32(0, true) !== MAGIC) {
    throw new Error(common.errorDecodeNotColumns);
  }
  const body = HEADER_OFFSET + view.getUint32(4, true);
  const header = new TextDecoder().decode(
    new Uint8Array(buffer, HEADER_OFFSET, body - HEADER_OFFSET),
  );
  return revive(JSON.parse(header), (dtype, offset, length) => {
    const read = COLUMN_READERS[dtype];
    if (read === undefined) throw new Error(common.errorDecodeUnknownType({ dtype }));
    return read(buffer, body + offset, length);
  });
}

type MakeColumn = (dtype: string, offset: number, length: number) => TypedColumn;

/** Replace references by columns, in place. */
function revive(value: unknown, make: MakeColumn): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) value[index] = revive(value[index], make);
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

/** Parse a number, which may be the name of a non-finite one. */
export function parseJsonNumber(value: JsonNumber | null | undefined): number | null {
  return value === null || value === undefined ? null : Number(value);
}

/** Convert seconds since 1970 to a date; null if they are invalid. */
export function parseTimestamp(seconds: JsonNumber | null | undefined): Date | null {
  const value = parseJsonNumber(seconds);
  const date = new Date(value === null ? NaN : value * 1000);
  return Number.isNaN(date.getTime()) ? null : date;
}
