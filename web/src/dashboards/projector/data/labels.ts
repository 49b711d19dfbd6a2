import type { ColumnAnswer } from './answers';

const decoder = new TextDecoder();

/** A column of labels; texts are decoded one by one, when somebody looks at them. */
export class Labels {
  readonly name: string;
  readonly kind: 'text' | 'number';
  readonly numbers: Float32Array | null;
  readonly codes: Int32Array | null;
  readonly #text: Uint8Array;
  readonly #ends: Int32Array;

  constructor({ name, kind, numbers, codes, text, ends }: ColumnAnswer) {
    this.name = name;
    this.kind = kind;
    this.numbers = numbers;
    this.codes = codes;
    this.#text = text;
    this.#ends = ends;
  }

  /** How many different texts are told apart by codes. */
  get values(): number {
    return this.#ends.length;
  }

  /** What a row is called. */
  of(row: number): string {
    return this.valueOf(this.codes ? (this.codes[row] ?? -1) : row);
  }

  valueOf(code: number): string {
    const end = this.#ends[code];
    if (end === undefined) return '';
    return decoder.decode(this.#text.subarray(code === 0 ? 0 : this.#ends[code - 1], end));
  }
}
