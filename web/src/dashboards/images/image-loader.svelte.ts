import { QueryError, toProblem } from '../../api/errors';
import type { Problem } from '../../api/schemas';
import { LruCache } from '../../lib/caches';
import type { DashboardApi } from '../../plugin/context';
import * as m from '../../catalog/images';

/** Decoded images, beside those on the screen. */
const MAX_CACHE_BYTES = 96 << 20;
const BYTES_PER_PIXEL = 4;
/** Few, so that visible images do not wait for prefetched ones. */
const MAX_CONCURRENT_PREFETCHES = 4;
const MAX_PREFETCH_QUEUE = 48;

export class ImageLoadError extends Error {
  constructor(readonly problem: Problem) {
    super(problem.message);
  }
}

interface DecodedImage {
  readonly url: string;
  readonly image: HTMLImageElement;
}

/** Loads and decodes images before they are shown, so that they replace each other without flicker. */
export class ImageLoader {
  readonly #api: DashboardApi;
  readonly #ready = new LruCache<DecodedImage>(MAX_CACHE_BYTES, ({ image }) =>
    image.removeAttribute('src'),
  );
  readonly #pending = new Map<string, Promise<DecodedImage>>();
  /** Paths to prefetch, the latest first. */
  #queue: string[] = [];
  #prefetchCount = 0;

  constructor(api: DashboardApi) {
    this.#api = api;
  }

  /** Return the URL of an image that is decoded already. */
  peekUrl(path: string): string | undefined {
    return this.#ready.get(path)?.url;
  }

  /** Resolves with the URL of an image when it is decoded. */
  async loadUrl(path: string): Promise<string> {
    return (await this.#get(path)).url;
  }

  /** Resolves with a decoded image that can be drawn on a canvas. */
  async loadImage(path: string): Promise<HTMLImageElement> {
    return (await this.#get(path)).image;
  }

  /** Load images that may be needed soon. */
  prefetch(paths: readonly string[]): void {
    const missing = paths.filter((path) => !this.peekUrl(path) && !this.#pending.has(path));
    this.#queue = [...missing, ...this.#queue.filter((path) => !missing.includes(path))];
    this.#queue.length = Math.min(this.#queue.length, MAX_PREFETCH_QUEUE);
    while (this.#prefetchCount < MAX_CONCURRENT_PREFETCHES && this.#queue.length > 0)
      void this.#prefetchNext();
  }

  dispose(): void {
    this.#queue = [];
    this.#ready.clear();
  }

  #get(path: string): Promise<DecodedImage> {
    const found = this.#ready.get(path);
    if (found) return Promise.resolve(found);
    const pending = this.#pending.get(path) ?? this.#fetch(path, 'auto');
    this.#pending.set(path, pending);
    return pending;
  }

  async #prefetchNext(): Promise<void> {
    const path = this.#queue.shift();
    if (path === undefined || this.peekUrl(path) || this.#pending.has(path)) return;
    this.#prefetchCount++;
    const pending = this.#fetch(path, 'low');
    this.#pending.set(path, pending);
    // A failure is shown when the image is needed.
    await pending.catch(() => undefined);
    this.#prefetchCount--;
    if (this.#queue.length > 0) void this.#prefetchNext();
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
      throw new ImageLoadError(await this.#findProblem(path, error));
    } finally {
      this.#pending.delete(path);
    }
  }

  /** An `<img>` does not report the reason of a failure; the server does. */
  async #findProblem(path: string, error: unknown): Promise<Problem> {
    if (error instanceof QueryError) return error.problem;
    try {
      await this.#api.get(path);
    } catch (failure) {
      if (failure instanceof QueryError) return failure.problem;
    }
    return { message: m.errorCannotDecode, hint: '' };
  }
}

/**
 * The result of the latest request. One request runs at a time; of those made meanwhile only the
 * last is run, so that a fast slider shows intermediate steps and never an old one after a new one.
 * Previous data stays until the next arrives.
 */
export class LatestRequest<Request, Data> {
  data = $state.raw<Data | null>(null);
  error = $state.raw<Problem | null>(null);

  readonly #load: (request: Request) => Promise<Data>;
  #next: Request | null = null;
  #isRunning = false;
  /** Changes when the running request is canceled. */
  #generation = 0;

  constructor(load: (request: Request) => Promise<Data>) {
    this.#load = load;
  }

  request(request: Request): void {
    this.#next = request;
    if (!this.#isRunning) void this.#run();
  }

  /** Show data that is available, instead of the result of earlier requests. */
  set(data: Data): void {
    this.cancel();
    this.data = data;
    this.error = null;
  }

  /** Drop the result of the running request. */
  cancel(): void {
    this.#next = null;
    this.#generation++;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    try {
      while (this.#next !== null) await this.#runOne(this.#next, this.#generation);
    } finally {
      this.#isRunning = false;
    }
  }

  async #runOne(request: Request, generation: number): Promise<void> {
    try {
      const data = await this.#load(request);
      if (generation !== this.#generation) return;
      [this.data, this.error] = [data, null];
    } catch (error) {
      if (generation !== this.#generation) return;
      // Before `getProblem`, which rethrows bugs: they must not be repeated forever.
      if (this.#next === request) this.#next = null;
      this.error = getProblem(error);
    }
    if (this.#next === request) this.#next = null;
  }
}

function getProblem(error: unknown): Problem {
  return error instanceof ImageLoadError ? error.problem : toProblem(error);
}

/** Load the image at a reactive path; null: none. Call it where effects can be created. */
export function useImageUrl(
  loader: ImageLoader,
  getPath: () => string | null,
): LatestRequest<string, string> {
  const url = new LatestRequest<string, string>((path) => loader.loadUrl(path));
  // Before the DOM is updated: decoded images are shown at once.
  $effect.pre(() => {
    const path = getPath();
    if (path === null) return;
    const known = loader.peekUrl(path);
    if (known === undefined) url.request(path);
    else url.set(known);
  });
  $effect(() => () => url.cancel());
  return url;
}
