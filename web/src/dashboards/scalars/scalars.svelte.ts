import { createContext } from 'svelte';

import type { Problem } from '../../api/types';
import type { Context } from '../../plugin/context';
import { type Card } from './cards/card';
import { buildSections } from './cards/sections';
import { Loader } from './data/loader.svelte';
import { viewAsk } from './data/query';
import { ShownTags } from './data/shown-tags.svelte';
import { TableLoader } from './data/tables.svelte';
import { Pointer } from './pointer.svelte';
import { openSettings, type Settings } from './state/settings';

/** All that the parts of the view share. */
export class Scalars {
  readonly context: Context;
  readonly settings: Settings;
  readonly loader: Loader;
  readonly tables: TableLoader;
  readonly pointer: Pointer;
  readonly #shownTags: ShownTags;
  /** Why something that was asked for beside the cards did not come. */
  trouble = $state.raw<Problem | null>(null);

  readonly view = $derived.by(() => viewAsk(this.settings, this.context.runs));
  /** The scalar tags of the runs that are shown. */
  readonly rows = $derived.by(() => this.#shownTags.filter(this.context.tags.rows));
  readonly sections = $derived.by(() =>
    buildSections(this.rows, {
      filter: this.settings.filter.value,
      pinned: this.settings.pinned.value,
      combined: this.settings.combined.value,
    }),
  );

  constructor(context: Context) {
    this.context = context;
    this.settings = openSettings(context);
    this.loader = new Loader(context.api);
    this.tables = new TableLoader(context.api);
    this.pointer = new Pointer(context.api);
    this.#shownTags = new ShownTags(context.api);
  }

  /** Keeps what is loaded in step with the page; to be called where effects live. */
  follow(): void {
    $effect(() => this.loader.show(this.view, this.context.runs.shown.length));
    $effect(() => this.#shownTags.show(this.view.runs));
    $effect(() => {
      const { pinned, range } = this.context.cursor;
      this.tables.show({ view: this.view, at: pinned, range });
    });
    $effect(() => {
      if (this.context.live.paused) return;
      this.loader.refresh(this.#revision());
      this.tables.refresh();
      this.#shownTags.refresh();
    });
    $effect(() => () => this.loader.stop());
  }

  findCard(id: string): Card | undefined {
    for (const { cards } of this.sections) {
      const card = cards.find((card) => card.id === id);
      if (card) return card;
    }
    return undefined;
  }

  /** Adds a card of several tags, or puts it in the place of another one. */
  addCombined(recipe: string, instead: string | null): void {
    const { combined } = this.settings;
    const others = combined.value.filter((other) => other !== recipe);
    const at = instead === null ? -1 : others.indexOf(instead);
    combined.set(at < 0 ? [...others, recipe] : others.with(at, recipe), 'push');
  }

  removeCombined(recipe: string): void {
    const { combined } = this.settings;
    combined.set(
      combined.value.filter((other) => other !== recipe),
      'push',
    );
  }

  /** Grows when one of the runs that are shown does. */
  #revision(): number {
    const { runs, live } = this.context;
    return runs.shown.reduce((sum, { name }) => sum + live.revisionOf(name), 0);
  }
}

export const [getScalars, setScalars] = createContext<Scalars>();
