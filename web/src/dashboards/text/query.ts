import type { TextResponse } from './schemas';
import type { DashboardApi } from '../../plugin/context';

/** Answers that were seen last stay at hand, up to so many characters. */
const MAX_CACHED_CHARACTERS = 20_000_000;

/** Texts as the server lays them out. */
export class TextCache {
  readonly #api: DashboardApi;
  readonly #kept = new Map<string, { answer: TextResponse; size: number }>();
  #size = 0;

  constructor(api: DashboardApi) {
    this.#api = api;
  }

  /** What is at hand, at once. */
  peek(path: string): TextResponse | undefined {
    const found = this.#kept.get(path);
    if (found) {
      this.#kept.delete(path);
      this.#kept.set(path, found);
    }
    return found?.answer;
  }

  async load(path: string, signal: AbortSignal): Promise<TextResponse> {
    const answer = await this.#api.get<TextResponse>(path, signal);
    this.#keep(path, answer);
    return answer;
  }

  #keep(path: string, answer: TextResponse): void {
    const size = answer.cells.reduce(
      (sum, { html, text }) => sum + (html ?? '').length + (text ?? '').length,
      0,
    );
    this.#size += size - (this.#kept.get(path)?.size ?? 0);
    this.#kept.set(path, { answer, size });
    for (const [oldest, { size }] of this.#kept) {
      if (this.#size <= MAX_CACHED_CHARACTERS) return;
      this.#kept.delete(oldest);
      this.#size -= size;
    }
  }
}
