import * as codec from '../../../lib/codecs';
import { compileTextFilter, type TextFilter } from '../../../lib/text-filter';
import type { Param } from '../../../plugin/context';
import type { ProfileState } from '../profile-state.svelte';

/** What rows of a tool are looked for by; a link shows the same. */
export class RowFilter {
  readonly #text: Param<string>;
  readonly #regex: Param<boolean>;

  constructor(profile: ProfileState, tool: string) {
    this.#text = profile.param(`${tool}-find`, codec.text, '');
    this.#regex = profile.param(`${tool}-regex`, codec.flag, false);
  }

  readonly filter = $derived.by<TextFilter>(() => ({
    text: this.#text.value,
    regex: this.#regex.value,
  }));

  readonly matcher = $derived.by(() => compileTextFilter(this.filter));

  set({ text, regex }: TextFilter): void {
    this.#text.set(text);
    this.#regex.set(regex);
  }

  /** The rows in whose words it is found. */
  apply<Row>(rows: readonly Row[], wordsOf: (row: Row) => string): Row[] {
    return rows.filter((row) => this.matcher.matches(wordsOf(row)));
  }
}
