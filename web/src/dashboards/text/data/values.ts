import type { TextAnswer } from '../../../api/text';
import type { Api } from '../../../plugin/context';

/** Answers that were seen last stay at hand, up to so many characters. */
const MOST_CHARACTERS = 20_000_000;

/** Texts as the server lays them out. */
export class TextValues {
  readonly #api: Api;
  readonly #kept = new Map<string, { answer: TextAnswer; size: number }>();
  #size = 0;

  constructor(api: Api) {
    this.#api = api;
  }

  /** What is at hand, at once. */
  find(path: string): TextAnswer | undefined {
    const found = this.#kept.get(path);
    if (found) {
      this.#kept.delete(path);
      this.#kept.set(path, found);
    }
    return found?.answer;
  }

  async load(path: string, signal: AbortSignal): Promise<TextAnswer> {
    const answer = await this.#api.get<TextAnswer>(path, signal);
    this.#keep(path, answer);
    return answer;
  }

  #keep(path: string, answer: TextAnswer): void {
    const size = answer.cells.reduce(
      (sum, { html, text }) => sum + (html ?? '').length + (text ?? '').length,
      0,
    );
    this.#size += size - (this.#kept.get(path)?.size ?? 0);
    this.#kept.set(path, { answer, size });
    for (const [oldest, { size }] of this.#kept) {
      if (this.#size <= MOST_CHARACTERS) return;
      this.#kept.delete(oldest);
      this.#size -= size;
    }
  }
}
