import { createContext } from 'svelte';

import type { Problem, TagRow } from '../../api/types';
import type { Context } from '../../plugin/context';
import { CardWall, type WallAbout } from '../../wall/card-wall.svelte';
import { buildSections } from '../../wall/sections';
import { cardOf, type ScalarCard } from './cards/card';
import { readCombined } from './cards/combined';
import { Loader } from './data/loader.svelte';
import { viewAsk } from './data/query';
import { TableLoader } from './data/tables.svelte';
import { Pointer } from './pointer.svelte';
import { openSettings, type Settings } from './state/settings';

const ABOUT: WallAbout = {
  name: 'scalars',
  title: 'Scalars',
  noun: 'scalars',
  lesson: 'A number logged at a step becomes a point here, within a second.',
};

/** All that the parts of the view share. */
export class Scalars extends CardWall<ScalarCard> {
  readonly settings: Settings;
  readonly loader: Loader;
  readonly tables: TableLoader;
  readonly pointer: Pointer;
  /** Why something that was asked for beside the cards did not come. */
  trouble = $state.raw<Problem | null>(null);

  readonly view = $derived.by(() => viewAsk(this.settings, this.context.runs));
  readonly sections = $derived.by(() =>
    buildSections(this.rows, cardOf, {
      filter: this.settings.filter.value,
      pinned: this.settings.pinned.value,
      extra: [{ title: 'Combined', key: ' combined', cards: this.#combined }],
    }),
  );
  readonly #combined = $derived.by(() => {
    const names = this.rows.map(({ tag }) => tag);
    return this.settings.combined.value.map((recipe) => readCombined(recipe, names));
  });

  constructor(context: Context) {
    super(context, ABOUT);
    this.settings = openSettings(context);
    this.loader = new Loader(context.api);
    this.tables = new TableLoader(context.api);
    this.pointer = new Pointer(context.api);
  }

  override follow(): void {
    super.follow();
    $effect(() => this.loader.show(this.view, this.context.runs.shown.length));
    $effect(() => {
      const { pinned, range } = this.context.cursor;
      this.tables.show({ view: this.view, at: pinned, range });
    });
    $effect(() => {
      if (this.context.live.paused) return;
      this.loader.refresh(this.revision);
      this.tables.refresh();
    });
    $effect(() => () => this.loader.stop());
  }

  protected override shows({ kind }: TagRow): boolean {
    return kind === 'scalar';
  }

  override letGo(): void {
    const { cursor } = this.context;
    if (cursor.pinned !== null) cursor.pin(null);
    else if (cursor.range !== null) cursor.select(null);
    else super.letGo();
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
}

export const [getScalars, setScalars] = createContext<Scalars>();
