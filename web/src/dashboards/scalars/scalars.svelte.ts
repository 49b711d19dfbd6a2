import { createContext } from 'svelte';

import { list } from '../../base/codec';
import { CurveWall } from '../../curves/curve-wall.svelte';
import type { Context, Param } from '../../plugin/context';
import type { WallAbout } from '../../wall/card-wall.svelte';
import { buildSections } from '../../wall/sections';
import { cardOf, type ScalarCard } from './cards/card';
import { readCombined } from './cards/combined';

const ABOUT: WallAbout = {
  name: 'scalars',
  title: 'Scalars',
  noun: 'scalars',
  lesson: 'A number logged at a step becomes a point here, within a second.',
};

/** A card for every tag, and for those that somebody put together. */
export class Scalars extends CurveWall<ScalarCard> {
  /** How each of the cards of several tags is made. */
  readonly #recipes: Param<readonly string[]>;

  readonly #combined = $derived.by(() => {
    const names = this.rows.map(({ tag }) => tag);
    return this.#recipes.value.map((recipe) => readCombined(recipe, names));
  });
  readonly sections = $derived.by(() =>
    buildSections(this.rows, cardOf, {
      filter: this.settings.filter.value,
      pinned: this.settings.pinned.value,
      extra: [{ title: 'Combined', key: ' combined', cards: this.#combined }],
    }),
  );

  constructor(context: Context) {
    super(context, ABOUT);
    this.#recipes = context.address.param('multi', list, []);
  }

  /** Adds a card of several tags, or puts it in the place of another one. */
  addCombined(recipe: string, instead: string | null): void {
    const others = this.#recipes.value.filter((other) => other !== recipe);
    const at = instead === null ? -1 : others.indexOf(instead);
    this.#recipes.set(at < 0 ? [...others, recipe] : others.with(at, recipe), 'push');
  }

  removeCombined(recipe: string): void {
    this.#recipes.set(
      this.#recipes.value.filter((other) => other !== recipe),
      'push',
    );
  }
}

export const [getScalars, setScalars] = createContext<Scalars>();
