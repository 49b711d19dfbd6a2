import { expect, test } from 'vitest';

import { setPngResolution } from './png-resolution';

test('a PNG states its resolution after its header', () => {
  const png = new Uint8Array(60).map((_, at) => at);
  const changed = setPngResolution(png, 300);
  const view = new DataView(changed.buffer);
  expect(new TextDecoder().decode(changed.subarray(37, 41))).toBe('pHYs');
  expect([view.getUint32(41), view.getUint32(45), view.getUint8(49)]).toEqual([11811, 11811, 1]);
  // As zlib.crc32 of Python computes it.
  expect(view.getUint32(50)).toBe(0x78a53f76);
  expect([...changed.subarray(0, 33), ...changed.subarray(54)]).toEqual([...png]);
});
