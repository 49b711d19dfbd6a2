import * as codec from '../../../base/codec';
import { compileFilter, type Filter } from '../../../base/filter';
import type { Param } from '../../../plugin/context';
import type { Profile } from '../profile.svelte';

/** What rows of a tool are looked for by; a link shows the same. */
export class Finding {
  readonly #text: Param<string>;
  readonly #regex: Param<boolean>;

  constructor(profile: Profile, tool: string) {
    this.#text = profile.param(`${tool}-find`, codec.text, '');
    this.#regex = profile.param(`${tool}-regex`, codec.flag, false);
  }

  readonly filter = $derived.by<Filter>(() => ({
    text: this.#text.value,
    regex: this.#regex.value,
  }));

  readonly matcher = $derived.by(() => compileFilter(this.filter));

  set({ text, regex }: Filter): void {
    this.#text.set(text);
    this.#regex.set(regex);
  }

  /** The rows in whose words it is found. */
  pass<Row>(rows: readonly Row[], wordsOf: (row: Row) => string): Row[] {
    return rows.filter((row) => this.matcher.matches(wordsOf(row)));
  }
}
