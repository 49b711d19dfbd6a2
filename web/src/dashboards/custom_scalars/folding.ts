import type { Param } from '../../plugin/context';
import { toggleName } from '../../wall/card-set';

/** Which sections are folded, where some are unless the address says otherwise. */
export class Folding implements Param<readonly string[]> {
  readonly #changed: Param<readonly string[]>;
  #closed: () => readonly string[] = () => [];

  /** `changed` names those that are not as they were. */
  constructor(changed: Param<readonly string[]>) {
    this.#changed = changed;
  }

  /** Says which sections are folded at first. */
  startFrom(closed: () => readonly string[]): void {
    this.#closed = closed;
  }

  get value(): readonly string[] {
    return differ(this.#closed(), this.#changed.value);
  }

  set(folded: readonly string[], how?: 'push' | 'replace'): void {
    this.#changed.set(differ(this.#closed(), folded), how);
  }
}

/** What is in one of two lists only. */
export function differ(one: readonly string[], other: readonly string[]): readonly string[] {
  return other.reduce(toggleName, one);
}
