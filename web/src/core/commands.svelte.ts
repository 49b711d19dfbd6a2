import type { Command, Commands } from '../plugin/context';

type Find = (query: string) => readonly Command[];

/** Who answers the command box, in the order in which answers are listed. */
class PageCommands implements Commands {
  #finders = $state.raw<readonly Find[]>([]);

  register(find: Find): () => void {
    this.#finders = [...this.#finders, find];
    return () => {
      this.#finders = this.#finders.filter((other) => other !== find);
    };
  }

  find(query: string): Command[] {
    return this.#finders.flatMap((find) => find(query));
  }
}

export const commands = new PageCommands();
