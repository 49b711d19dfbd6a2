/** The sizes of the frequencies in some samples, whose number is a power of two. */
export class Transform {
  readonly size: number;
  readonly #window: Float64Array;
  readonly #cos: Float64Array;
  readonly #sin: Float64Array;
  readonly #re: Float64Array;
  readonly #im: Float64Array;

  constructor(size: number) {
    this.size = size;
    this.#window = Float64Array.from(
      { length: size },
      (_, at) => 0.5 - 0.5 * Math.cos((2 * Math.PI * at) / size),
    );
    this.#cos = Float64Array.from({ length: size / 2 }, (_, at) => Math.cos(this.#angle(at)));
    this.#sin = Float64Array.from({ length: size / 2 }, (_, at) => Math.sin(this.#angle(at)));
    this.#re = new Float64Array(size);
    this.#im = new Float64Array(size);
  }

  /** Adds to `power` that of each frequency around a frame; a sine from -1 to 1 has 1. */
  add(samples: Float32Array, first: number, power: Float64Array): void {
    const [re, im] = [this.#re, this.#im];
    for (let at = 0; at < this.size; at++) {
      re[at] = (samples[first + at] ?? 0) * (this.#window[at] ?? 0);
      im[at] = 0;
    }
    this.#shuffle();
    for (let half = 1; half < this.size; half *= 2) this.#combine(half);
    // The window lets half of the sound through, and half of that is below zero.
    const share = (4 / this.size) ** 2;
    for (let at = 0; at < power.length; at++)
      power[at] = (power[at] ?? 0) + ((re[at] ?? 0) ** 2 + (im[at] ?? 0) ** 2) * share;
  }

  #angle(at: number): number {
    return (-2 * Math.PI * at) / this.size;
  }

  /** Puts each sample where its number read backwards in bits says. */
  #shuffle(): void {
    const re = this.#re;
    for (let at = 1, other = 0; at < this.size; at++) {
      let bit = this.size >> 1;
      for (; other & bit; bit >>= 1) other ^= bit;
      other ^= bit;
      if (at >= other) continue;
      const kept = re[at] ?? 0;
      re[at] = re[other] ?? 0;
      re[other] = kept;
    }
  }

  #combine(half: number): void {
    const [re, im] = [this.#re, this.#im];
    const stride = this.size / (2 * half);
    for (let block = 0; block < this.size; block += 2 * half) {
      for (let at = 0; at < half; at++) {
        const [cos, sin] = [this.#cos[at * stride] ?? 0, this.#sin[at * stride] ?? 0];
        const [one, other] = [block + at, block + at + half];
        const [a, b] = [re[other] ?? 0, im[other] ?? 0];
        const [real, imaginary] = [a * cos - b * sin, a * sin + b * cos];
        re[other] = (re[one] ?? 0) - real;
        im[other] = (im[one] ?? 0) - imaginary;
        re[one] = (re[one] ?? 0) + real;
        im[one] = (im[one] ?? 0) + imaginary;
      }
    }
  }
}
