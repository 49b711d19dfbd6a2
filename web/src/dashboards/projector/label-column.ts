import type { ColumnResponse } from '../../api/schemas';
import { valueRange } from '../../charts/points/point-colors';

const decoder = new TextDecoder();

/** A column of labels. Texts are decoded when they are read. */
export class LabelColumn {
  readonly name: string;
  readonly kind: 'text' | 'number';
  readonly numbers: Float32Array | null;
  readonly codes: Int32Array | null;
  readonly #text: Uint8Array;
  readonly #ends: Int32Array;

  constructor({ name, kind, numbers, codes, text, ends }: ColumnResponse) {
    this.name = name;
    this.kind = kind;
    this.numbers = numbers;
    this.codes = codes;
    this.#text = text;
    this.#ends = ends;
  }

  /** Number of texts: of distinct ones if there are codes, else of rows. */
  get distinctCount(): number {
    return this.#ends.length;
  }

  /** Approximate memory use. */
  get sizeBytes(): number {
    const arrays = [this.numbers, this.codes, this.#text, this.#ends];
    return arrays.reduce((total, array) => total + (array?.byteLength ?? 0), 0);
  }

  textAt(row: number): string {
    return this.valueText(this.codes ? (this.codes[row] ?? -1) : row);
  }

  valueText(code: number): string {
    const end = this.#ends[code];
    if (end === undefined) return '';
    return decoder.decode(this.#text.subarray(code === 0 ? 0 : this.#ends[code - 1], end));
  }
}

/**
 * Return for each row the index of its value in `names`, which begin with the most frequent. Other
 * values have larger numbers, and rows without a value -1.
 */
export function codesByFrequency(
  labels: LabelColumn,
  names: readonly string[],
  total: number,
): Int32Array {
  const indices = new Map(names.map((name, index) => [name, index]));
  const { codes } = labels;
  const ranks = Int32Array.from({ length: labels.distinctCount }, (_, code) => {
    const text = labels.valueText(code);
    return text === '' ? -1 : (indices.get(text) ?? names.length + code);
  });
  const result = new Int32Array(total);
  for (let row = 0; row < total; row++) {
    result[row] = ranks[codes ? (codes[row] ?? -1) : row] ?? -1;
  }
  return result;
}

/** Return the size of each point from 0 to 255; its area is proportional to the number. */
export function pointSizes(labels: LabelColumn): Uint8Array | null {
  const { numbers } = labels;
  if (!numbers) return null;
  const [low, high] = valueRange(numbers, false);
  const sizes = new Uint8Array(numbers.length);
  numbers.forEach((value, row) => {
    const fraction = high > low ? (value - low) / (high - low) : 1;
    sizes[row] = Number.isNaN(fraction) ? 0 : Math.round(255 * Math.sqrt(fraction));
  });
  return sizes;
}
