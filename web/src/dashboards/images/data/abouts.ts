import type { AboutAnswer, PartAbout } from '../../../api/images';
import type { Api } from '../../../plugin/context';
import { Shelf } from '../memory/shelf';
import type { Value } from './value';

/** How many descriptions of pictures are remembered. */
const REMEMBERED = 20_000;

/** What values hold, before any picture is loaded: how many pictures, and of what size. */
export class Abouts {
  readonly #api: Api;
  readonly #known = new Shelf<readonly PartAbout[]>(REMEMBERED);
  readonly #asked = new Map<string, Promise<readonly PartAbout[]>>();

  constructor(api: Api) {
    this.#api = api;
  }

  find(value: Value): readonly PartAbout[] | undefined {
    return this.#known.find(value.key);
  }

  load(value: Value): Promise<readonly PartAbout[]> {
    const known = this.find(value);
    if (known) return Promise.resolve(known);
    const asked = this.#asked.get(value.key) ?? this.#ask(value.key);
    this.#asked.set(value.key, asked);
    return asked;
  }

  async #ask(key: string): Promise<readonly PartAbout[]> {
    try {
      const { parts } = await this.#api.get<AboutAnswer>(key);
      this.#known.keep(key, parts, Math.max(1, parts.length));
      return parts;
    } finally {
      this.#asked.delete(key);
    }
  }
}
