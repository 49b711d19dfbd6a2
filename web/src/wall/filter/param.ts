import { flag, text } from '../../base/codec';
import type { Filter } from '../../base/filter';
import type { Address, Param } from '../../plugin/context';

/** Which tags are shown. The switch is kept apart, so that it may stand while the box is empty. */
export class FilterParam {
  readonly #text: Param<string>;
  readonly #regex: Param<boolean>;

  constructor(address: Address) {
    this.#text = address.param('tags', text, '');
    this.#regex = address.param('tags-re', flag, false);
  }

  get value(): Filter {
    return { text: this.#text.value, regex: this.#regex.value };
  }

  set(filter: Filter): void {
    this.#text.set(filter.text);
    this.#regex.set(filter.regex);
  }
}
