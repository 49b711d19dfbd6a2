import { getDamagedFiles } from '../api/client';
import type { FileRow } from '../api/types';
import { number } from '../base/codec';
import { tastes } from './tastes.svelte';

/** The damaged files of all runs, told until somebody has heard it. */
class Damage {
  files = $state.raw<readonly FileRow[]>([]);
  readonly #heard = tastes.param('damage-heard', number(0), 0);
  #asked = 0;

  /** More damage than this is told; what is known is no longer news. */
  get heard(): number {
    return this.#heard.value;
  }

  hear(damaged: number): void {
    this.#heard.set(damaged);
  }

  async load(damaged: number): Promise<void> {
    const asked = ++this.#asked;
    try {
      const files = damaged > 0 ? (await getDamagedFiles()).files : [];
      if (asked === this.#asked) this.files = files;
    } catch {
      // The count of damaged records is shown anyway, and the live mark tells of a lost server.
    }
  }
}

export const damage = new Damage();
