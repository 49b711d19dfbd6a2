import { untrack } from 'svelte';

import type { Command, Commands } from '../plugin/context';

type Find = (query: string) => readonly Command[];

/** Who answers the command box, in the order in which answers are listed. */
class PageCommands implements Commands {
  #finders = $state.raw<readonly Find[]>([]);

  /** May be called in an effect, which must not run again because of it. */
  register(find: Find): () => void {
    this.#change((finders) => [...finders, find]);
    return () => this.#change((finders) => finders.filter((other) => other !== find));
  }

  find(query: string): Command[] {
    return this.#finders.flatMap((find) => find(query));
  }

  #change(change: (finders: readonly Find[]) => Find[]): void {
    this.#finders = untrack(() => change(this.#finders));
  }
}

export const commands = new PageCommands();
