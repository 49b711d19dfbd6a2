import { getDamagedFiles } from '../api/client';
import type { FileRow } from '../api/types';

/** The damaged files of all runs. */
class Damage {
  files = $state.raw<readonly FileRow[]>([]);
  #asked = 0;

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
