import { ApiError, problemOf } from '../../../api/client';
import type { Problem } from '../../../api/types';
import type { Api } from '../../../plugin/context';
import { Shelf } from '../memory/shelf';

/** Bytes of decoded pictures that are held ready beside those on the screen. */
const HELD_BYTES = 96 << 20;
const BYTES_A_PIXEL = 4;
/** Pictures that are fetched ahead of time at once, so that those looked at do not wait for them. */
const AHEAD_AT_ONCE = 4;
/** Further ones than this are not fetched ahead; somebody who moves on no longer wants the first. */
const LONGEST_QUEUE = 48;

/** A picture could not be shown. */
export class PictureError extends Error {
  constructor(readonly problem: Problem) {
    super(problem.message);
  }
}

interface Decoded {
  readonly url: string;
  readonly image: HTMLImageElement;
}

/** Pictures, decoded before they are shown, so that one takes the place of another at once. */
export class Pictures {
  readonly #api: Api;
  readonly #ready = new Shelf<Decoded>(HELD_BYTES, ({ image }) => image.removeAttribute('src'));
  readonly #coming = new Map<string, Promise<Decoded>>();
  #queue: string[] = [];
  #ahead = 0;

  constructor(api: Api) {
    this.#api = api;
  }

  /** The address for an `<img>`, if its picture would be there at once. */
  find(path: string): string | undefined {
    return this.#ready.find(path)?.url;
  }

  /** The address for an `<img>`, once its picture is there. */
  async load(path: string): Promise<string> {
    return (await this.#get(path)).url;
  }

  /** The picture itself, to be drawn at once. */
  async take(path: string): Promise<HTMLImageElement> {
    return (await this.#get(path)).image;
  }

  /** Fetches what may be wanted soon, one after the other; the last ones asked for come first. */
  expect(paths: readonly string[]): void {
    const missing = paths.filter((path) => !this.find(path) && !this.#coming.has(path));
    this.#queue = [...missing, ...this.#queue.filter((path) => !missing.includes(path))];
    this.#queue.length = Math.min(this.#queue.length, LONGEST_QUEUE);
    while (this.#ahead < AHEAD_AT_ONCE && this.#queue.length > 0) void this.#fetchAhead();
  }

  stop(): void {
    this.#queue = [];
    this.#ready.clear();
  }

  #get(path: string): Promise<Decoded> {
    const found = this.#ready.find(path);
    if (found) return Promise.resolve(found);
    const coming = this.#coming.get(path) ?? this.#fetch(path, 'auto');
    this.#coming.set(path, coming);
    return coming;
  }

  async #fetchAhead(): Promise<void> {
    const path = this.#queue.shift();
    if (path === undefined || this.find(path) || this.#coming.has(path)) return;
    this.#ahead++;
    const coming = this.#fetch(path, 'low');
    this.#coming.set(path, coming);
    // Whoever looks at it will be told what is wrong with it.
    await coming.catch(() => undefined);
    this.#ahead--;
    if (this.#queue.length > 0) void this.#fetchAhead();
  }

  async #fetch(path: string, priority: 'auto' | 'low'): Promise<Decoded> {
    const image = new Image();
    try {
      const url = await this.#api.fileUrl(path);
      image.fetchPriority = priority;
      image.src = url;
      await image.decode();
      const decoded = { url, image };
      const pixels = image.naturalWidth * image.naturalHeight;
      this.#ready.keep(path, decoded, pixels * BYTES_A_PIXEL);
      return decoded;
    } catch (error) {
      throw new PictureError(await this.#explain(path, error));
    } finally {
      this.#coming.delete(path);
    }
  }

  /** An `<img>` does not say what is wrong; the server does. */
  async #explain(path: string, error: unknown): Promise<Problem> {
    if (error instanceof ApiError) return error.problem;
    try {
      await this.#api.get(path);
    } catch (failure) {
      if (failure instanceof ApiError || failure instanceof TypeError) return problemOf(failure);
    }
    return { message: 'This picture is damaged: the browser cannot read it.', hint: '' };
  }
}
