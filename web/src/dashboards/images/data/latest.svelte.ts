import { problemOf } from '../../../api/client';
import type { Problem } from '../../../api/types';
import { PictureError } from './pictures';

/**
 * What was got for the last thing asked for. One is got at a time, and of those asked for meanwhile
 * only the last: who moves a slider fast sees as many pictures as can come, and never an old one after
 * a new one. What was got before stays until there is something new.
 */
export class Latest<Ask, Got> {
  got = $state.raw<Got | null>(null);
  problem = $state.raw<Problem | null>(null);

  readonly #get: (ask: Ask) => Promise<Got>;
  #wanted: Ask | null = null;
  #busy = false;
  /** Grows when what is under way is no longer wanted. */
  #turn = 0;

  constructor(get: (ask: Ask) => Promise<Got>) {
    this.#get = get;
  }

  want(ask: Ask): void {
    this.#wanted = ask;
    if (!this.#busy) void this.#work();
  }

  /** Something that was at hand, instead of what was asked for before. */
  put(got: Got): void {
    this.stop();
    this.got = got;
    this.problem = null;
  }

  /** Asks no more; what is under way is dropped when it comes. */
  stop(): void {
    this.#wanted = null;
    this.#turn++;
  }

  async #work(): Promise<void> {
    this.#busy = true;
    while (this.#wanted !== null) {
      const [ask, turn] = [this.#wanted, this.#turn];
      const result = await this.#get(ask).then(
        (got) => ({ got, problem: null }),
        (error: unknown) => ({ got: this.got, problem: wordsFor(error) }),
      );
      if (turn !== this.#turn) continue;
      this.got = result.got;
      this.problem = result.problem;
      if (this.#wanted === ask) this.#wanted = null;
    }
    this.#busy = false;
  }
}

function wordsFor(error: unknown): Problem {
  return error instanceof PictureError ? error.problem : problemOf(error);
}
