import { isAbortError, toProblem } from './errors';
import type { Problem } from './schemas';

/** One question that changes: of its answers only that to the last one counts. */
export class Query<Answer> {
  data = $state.raw<Answer | null>(null);
  error = $state.raw<Problem | null>(null);
  loading = $state(false);
  #asked = new AbortController();
  #question: ((signal: AbortSignal) => Promise<Answer>) | null = null;

  /** Null asks nothing. The answer before stays until the next one is there if it is `kept`. */
  run(question: ((signal: AbortSignal) => Promise<Answer>) | null, kept = false): void {
    this.stop();
    this.#question = question;
    if (!kept || !question) this.data = null;
    this.error = null;
    this.loading = question !== null;
    if (question)
      this.#run(question, this.#asked.signal).catch((error: unknown) => reportError(error));
  }

  /** Asks the last question once more. */
  retry(): void {
    this.run(this.#question, true);
  }

  stop(): void {
    this.#asked.abort();
    this.#asked = new AbortController();
  }

  async #run(
    question: (signal: AbortSignal) => Promise<Answer>,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      const answer = await question(signal);
      if (signal.aborted) return;
      this.data = answer;
    } catch (error) {
      if (isAbortError(error) || signal.aborted) return;
      this.data = null;
      this.error = toProblem(error);
    } finally {
      if (!signal.aborted) this.loading = false;
    }
  }
}

/** All there is of something, each thing with an id, once the server has said it. */
export class ListQuery<Row extends { readonly id: string }> {
  rows = $state.raw<readonly Row[]>([]);
  isReady = $state(false);
  error = $state.raw<Problem | null>(null);
  readonly #ask: (signal?: AbortSignal) => Promise<readonly Row[]>;
  #loading = new AbortController();

  constructor(ask: (signal?: AbortSignal) => Promise<readonly Row[]>) {
    this.#ask = ask;
  }

  find(id: string): Row | undefined {
    return id === '' ? undefined : this.rows.find((row) => row.id === id);
  }

  /** Load the list again. A response to an earlier call never replaces that of a later one. */
  async load(): Promise<void> {
    this.#loading.abort();
    const { signal } = (this.#loading = new AbortController());
    try {
      const rows = await this.#ask(signal);
      if (signal.aborted) return;
      [this.rows, this.isReady, this.error] = [rows, true, null];
    } catch (error) {
      if (!isAbortError(error) && !signal.aborted) this.error = toProblem(error);
    }
  }
}
