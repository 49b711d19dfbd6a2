import type { Contents } from '../contents';

/** One series as it was copied, without overwritten points. */
export interface Series {
  readonly run: string;
  /** Of the log: how many points there are, were overwritten, and are not finite. */
  readonly points: number;
  readonly overwritten: number;
  readonly odd: number;
  readonly step: Float64Array;
  readonly wall_time: Float64Array;
  readonly value: Float32Array | Float64Array;
  /** Which points of the log these are; null: all of them. */
  readonly index: Int32Array | null;
}

interface CopiedTag {
  readonly tag: string;
  readonly path: string;
  readonly runs: readonly string[];
}

export interface Key {
  readonly run: string;
  readonly tag: string;
}

/** The series of a copy, tag by tag. */
export class Library {
  readonly #contents: Contents;
  readonly #below: string;

  /** `below` is the address that those of the series begin with. */
  constructor(contents: Contents, below: string) {
    this.#contents = contents;
    this.#below = below;
  }

  /** Tag by tag, the series of those of the runs that have it. */
  async find(
    tags: readonly string[],
    runs: readonly string[] | null,
  ): Promise<readonly (readonly [Key, Series])[]> {
    const chosen = runs && new Set(runs);
    const found = await Promise.all(tags.map((tag) => this.#read(tag)));
    return tags.flatMap((tag, at) =>
      (found[at] ?? [])
        .filter(({ run }) => chosen === null || chosen.has(run))
        .map((series) => [{ run: series.run, tag }, series] as const),
    );
  }

  async #index(): Promise<readonly CopiedTag[]> {
    const { tags } = (await this.#contents.read(`${this.#below}series`)) as {
      tags: readonly CopiedTag[];
    };
    return tags;
  }

  async #read(tag: string): Promise<readonly Series[]> {
    const found = (await this.#index()).find((one) => one.tag === tag);
    if (!found) return [];
    const { series } = (await this.#contents.read(this.#below + found.path)) as {
      series: readonly Series[];
    };
    return series;
  }
}
