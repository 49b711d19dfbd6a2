import { describe, expect, test } from 'vitest';

import { valuePath } from './client';
import { decodeColumns, parseJsonNumber, parseJsonNumbers, parseTimestamp } from './decode';

describe('decoding', () => {
  /** Encode a response: header, padding and body. */
  function lay(header: unknown, body: ArrayBuffer): ArrayBuffer {
    const text = new TextEncoder().encode(JSON.stringify(header));
    const length = Math.ceil(text.length / 8) * 8;
    const whole = new Uint8Array(8 + length + body.byteLength).fill(0x20);
    whole.set(new TextEncoder().encode('TLC1'));
    new DataView(whole.buffer).setUint32(4, length, true);
    whole.set(text, 8);
    whole.set(new Uint8Array(body), 8 + length);
    return whole.buffer;
  }

  const column = (dtype: string, offset: number, length: number): object => ({
    $column: [dtype, offset, length],
  });

  test('references in the header become columns', () => {
    const body = new Float64Array([0.5, NaN, -Infinity]).buffer;
    const answer = decodeColumns(
      lay({ charts: [{ id: 'ä', y: column('f8', 0, 3), x: null }], n: 2 }, body),
    );
    expect(answer).toEqual({
      charts: [{ id: 'ä', y: new Float64Array([0.5, NaN, -Infinity]), x: null }],
      n: 2,
    });
  });

  test('all types are decoded', () => {
    const body = new ArrayBuffer(40);
    new Float32Array(body, 0, 1)[0] = 1.5;
    new Int32Array(body, 8, 2).set([-1, 7]);
    new BigInt64Array(body, 16, 2).set([-5n, 2n ** 40n]);
    new Uint8Array(body, 32, 3).set([1, 0, 255]);
    const header = [
      column('f4', 0, 1),
      column('i4', 8, 2),
      column('i8', 16, 2),
      column('u1', 32, 3),
      column('f8', 40, 0),
    ];
    expect(decodeColumns(lay(header, body))).toEqual([
      new Float32Array([1.5]),
      new Int32Array([-1, 7]),
      new Float64Array([-5, 2 ** 40]),
      new Uint8Array([1, 0, 255]),
      new Float64Array(),
    ]);
  });

  test('columns are views of the buffer', () => {
    const buffer = lay({ y: column('f8', 0, 1) }, new Float64Array([3]).buffer);
    expect((decodeColumns(buffer) as { y: Float64Array }).y.buffer).toBe(buffer);
  });

  test('values that only resemble a reference are kept', () => {
    const header = { $column: 'name', more: { $column: [1], beside: 2 } };
    expect(decodeColumns(lay(header, new ArrayBuffer(0)))).toEqual(header);
  });

  test('other bytes are rejected', () => {
    expect(() => decodeColumns(new ArrayBuffer(4))).toThrow();
    expect(() => decodeColumns(new TextEncoder().encode('{"charts": []}').buffer)).toThrow();
    expect(() => decodeColumns(lay([column('f2', 0, 1)], new ArrayBuffer(8)))).toThrow('f2');
    expect(() => decodeColumns(lay([column('f8', 0, 9)], new ArrayBuffer(8)))).toThrow();
  });

  test('non-finite numbers are parsed', () => {
    expect(parseJsonNumbers([1.5, 'NaN', '-Infinity', null])).toEqual([1.5, NaN, -Infinity, null]);
    expect(parseJsonNumbers(undefined)).toEqual([]);
    expect(parseJsonNumber(undefined)).toBeNull();
  });

  test('invalid timestamps are null', () => {
    expect(parseTimestamp(1_700_000_000)?.getFullYear()).toBe(2023);
    for (const nothing of [null, 'NaN', 'Infinity', 1e300] as const) {
      expect(parseTimestamp(nothing)).toBeNull();
    }
  });
});

describe('value paths', () => {
  const STEPS = {
    run: 'a/b c',
    tag: "grid?&é'(1)",
    index: Int32Array.of(3, 8),
    step: Float64Array.of(0, 10),
    wallTime: Float64Array.of(0, 1),
    fingerprint: Int32Array.of(11, 12),
  };

  test('the path of a value is that of the server', () => {
    expect(valuePath('thumbnail', STEPS, 1, { part: 0, size: 256 })).toBe(
      "thumbnail?run=a%2Fb%20c&tag=grid%3F%26%C3%A9'(1)&index=8&fingerprint=12&part=0&size=256",
    );
  });
});
