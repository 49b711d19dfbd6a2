/** A call cannot have a million arguments. */
const ENCODE_CHUNK_BYTES = 8192;

/**
 * Encode rows for the server: bit `row & 7` of byte `row >> 3`, in base64; null for all rows.
 *
 * @param mask One byte per row, 0 or 1.
 */
export function encodeMask(mask: Uint8Array | null): string | null {
  if (!mask) return null;
  const bytes = new Uint8Array((mask.length + 7) >> 3);
  for (let row = 0; row < mask.length; row++) {
    if (mask[row]) bytes[row >> 3] = (bytes[row >> 3] ?? 0) | (1 << (row & 7));
  }
  let text = '';
  for (let start = 0; start < bytes.length; start += ENCODE_CHUNK_BYTES) {
    text += String.fromCharCode(...bytes.subarray(start, start + ENCODE_CHUNK_BYTES));
  }
  return btoa(text);
}
