import { createContext } from 'svelte';

import { list } from '../../lib/codecs';
import { ScalarGridState } from '../../scalar-cards/scalar-grid.svelte';
import type { Context, Param } from '../../plugin/context';
import type { CardGridInfo } from '../../cards/card-grid.svelte';
import { buildSections } from '../../cards/card-sections';
import { makeTagCard, parseCombinedCard, type ScalarsCardModel } from './combined-cards';

const INFO: CardGridInfo = {
  name: 'scalars',
  title: 'Scalars',
  noun: 'scalars',
  emptyHint: 'A number logged at a step becomes a point here, within a second.',
};

/** A card for every tag, and for those that somebody put together. */
export class ScalarsDashboard extends ScalarGridState<ScalarsCardModel> {
  /** How each of the cards of several tags is made. */
  readonly #definitions: Param<readonly string[]>;

  readonly #combined = $derived.by(() => {
    const names = this.visibleRows.map(({ tag }) => tag);
    return this.#definitions.value.map((recipe) => parseCombinedCard(recipe, names));
  });
  readonly sections = $derived.by(() =>
    buildSections(this.visibleRows, makeTagCard, {
      filter: this.settings.filter.value,
      pinned: this.settings.pinned.value,
      extra: [{ title: 'Combined', key: ' combined', cards: this.#combined }],
    }),
  );

  constructor(context: Context) {
    super(context, INFO);
    this.#definitions = context.url.param('multi', list, []);
  }

  /** Adds a card of several tags, or puts it in the place of another one. */
  addCombined(recipe: string, instead: string | null): void {
    const others = this.#definitions.value.filter((other) => other !== recipe);
    const at = instead === null ? -1 : others.indexOf(instead);
    this.#definitions.set(at < 0 ? [...others, recipe] : others.with(at, recipe), 'push');
  }

  removeCombined(recipe: string): void {
    this.#definitions.set(
      this.#definitions.value.filter((other) => other !== recipe),
      'push',
    );
  }
}

export const [getScalars, setScalars] = createContext<ScalarsDashboard>();
