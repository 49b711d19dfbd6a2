import { QueryError, toProblem } from '../../api/errors';
import type { Problem } from '../../api/schemas';
import { LruCache } from '../../lib/caches';
import type { DashboardApi } from '../../plugin/context';

/** Bytes of decoded pictures that are held ready beside those on the screen. */
const MAX_CACHE_BYTES = 96 << 20;
const BYTES_PER_PIXEL = 4;
/** Pictures that are fetched ahead of time at once, so that those looked at do not wait for them. */
const MAX_CONCURRENT_PREFETCHES = 4;
/** Further ones than this are not fetched ahead; somebody who moves on no longer wants the first. */
const MAX_PREFETCH_QUEUE = 48;

/** A picture could not be shown. */
export class ImageLoadError extends Error {
  constructor(readonly problem: Problem) {
    super(problem.message);
  }
}

interface DecodedImage {
  readonly url: string;
  readonly image: HTMLImageElement;
}

/** Pictures, decoded before they are shown, so that one takes the place of another at once. */
export class ImageLoader {
  readonly #api: DashboardApi;
  readonly #ready = new LruCache<DecodedImage>(MAX_CACHE_BYTES, ({ image }) =>
    image.removeAttribute('src'),
  );
  readonly #coming = new Map<string, Promise<DecodedImage>>();
  #queue: string[] = [];
  #ahead = 0;

  constructor(api: DashboardApi) {
    this.#api = api;
  }

  /** The address for an `<img>`, if its picture would be there at once. */
  peekUrl(path: string): string | undefined {
    return this.#ready.get(path)?.url;
  }

  /** The address for an `<img>`, once its picture is there. */
  async loadUrl(path: string): Promise<string> {
    return (await this.#get(path)).url;
  }

  /** The picture itself, to be drawn at once. */
  async loadImage(path: string): Promise<HTMLImageElement> {
    return (await this.#get(path)).image;
  }

  /** Fetches what may be wanted soon, one after the other; the last ones asked for come first. */
  prefetch(paths: readonly string[]): void {
    const missing = paths.filter((path) => !this.peekUrl(path) && !this.#coming.has(path));
    this.#queue = [...missing, ...this.#queue.filter((path) => !missing.includes(path))];
    this.#queue.length = Math.min(this.#queue.length, MAX_PREFETCH_QUEUE);
    while (this.#ahead < MAX_CONCURRENT_PREFETCHES && this.#queue.length > 0)
      void this.#fetchAhead();
  }

  dispose(): void {
    this.#queue = [];
    this.#ready.clear();
  }

  #get(path: string): Promise<DecodedImage> {
    const found = this.#ready.get(path);
    if (found) return Promise.resolve(found);
    const coming = this.#coming.get(path) ?? this.#fetch(path, 'auto');
    this.#coming.set(path, coming);
    return coming;
  }

  async #fetchAhead(): Promise<void> {
    const path = this.#queue.shift();
    if (path === undefined || this.peekUrl(path) || this.#coming.has(path)) return;
    this.#ahead++;
    const coming = this.#fetch(path, 'low');
    this.#coming.set(path, coming);
    // Whoever looks at it will be told what is wrong with it.
    await coming.catch(() => undefined);
    this.#ahead--;
    if (this.#queue.length > 0) void this.#fetchAhead();
  }

  async #fetch(path: string, priority: 'auto' | 'low'): Promise<DecodedImage> {
    const image = new Image();
    try {
      const url = await this.#api.fileUrl(path);
      image.fetchPriority = priority;
      image.src = url;
      await image.decode();
      const decoded = { url, image };
      const pixels = image.naturalWidth * image.naturalHeight;
      this.#ready.set(path, decoded, pixels * BYTES_PER_PIXEL);
      return decoded;
    } catch (error) {
      throw new ImageLoadError(await this.#explain(path, error));
    } finally {
      this.#coming.delete(path);
    }
  }

  /** An `<img>` does not say what is wrong; the server does. */
  async #explain(path: string, error: unknown): Promise<Problem> {
    if (error instanceof QueryError) return error.problem;
    try {
      await this.#api.get(path);
    } catch (failure) {
      if (failure instanceof QueryError) return failure.problem;
    }
    return { message: 'This picture is damaged: the browser cannot read it.', hint: '' };
  }
}

/**
 * What was got for the last thing asked for. One is got at a time, and of those asked for meanwhile
 * only the last: who moves a slider fast sees as many pictures as can come, and never an old one after
 * a new one. What was got before stays until there is something new.
 */
export class LatestRequest<Ask, Got> {
  data = $state.raw<Got | null>(null);
  error = $state.raw<Problem | null>(null);

  readonly #get: (ask: Ask) => Promise<Got>;
  #wanted: Ask | null = null;
  #busy = false;
  /** Grows when what is under way is no longer wanted. */
  #turn = 0;

  constructor(get: (ask: Ask) => Promise<Got>) {
    this.#get = get;
  }

  request(ask: Ask): void {
    this.#wanted = ask;
    if (!this.#busy) void this.#work();
  }

  /** Something that was at hand, instead of what was asked for before. */
  set(got: Got): void {
    this.cancel();
    this.data = got;
    this.error = null;
  }

  /** Asks no more; what is under way is dropped when it comes. */
  cancel(): void {
    this.#wanted = null;
    this.#turn++;
  }

  async #work(): Promise<void> {
    this.#busy = true;
    try {
      while (this.#wanted !== null) await this.#next(this.#wanted, this.#turn);
    } finally {
      this.#busy = false;
    }
  }

  async #next(ask: Ask, turn: number): Promise<void> {
    try {
      const got = await this.#get(ask);
      if (turn !== this.#turn) return;
      [this.data, this.error] = [got, null];
    } catch (error) {
      if (turn !== this.#turn) return;
      // Also if describing it throws: a bug must not be repeated forever.
      if (this.#wanted === ask) this.#wanted = null;
      this.error = describeFailure(error);
    }
    if (this.#wanted === ask) this.#wanted = null;
  }
}

function describeFailure(error: unknown): Problem {
  return error instanceof ImageLoadError ? error.problem : toProblem(error);
}

/** The picture at a path that changes; null asks for none. To be called where effects live. */
export function useImageUrl(
  pictures: ImageLoader,
  getPath: () => string | null,
): LatestRequest<string, string> {
  const url = new LatestRequest<string, string>((path) => pictures.loadUrl(path));
  // What is at hand is there with the next frame, so that a series plays without flicker.
  $effect.pre(() => {
    const path = getPath();
    if (path === null) return;
    const found = pictures.peekUrl(path);
    if (found === undefined) url.request(path);
    else url.set(found);
  });
  $effect(() => () => url.cancel());
  return url;
}
