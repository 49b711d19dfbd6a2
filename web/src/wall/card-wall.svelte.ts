import type { TagRow } from '../api/types';
import type { Context } from '../plugin/context';
import { askedRuns } from './asked-runs';
import type { Card, Section } from './card';
import type { WallSettings } from './settings';
import { ShownTags } from './shown-tags.svelte';

/** What a wall is called and is about. */
export interface WallAbout {
  /** As the server calls the dashboard; the browser remembers tastes by it. */
  readonly name: string;
  readonly title: string;
  /** What is shown, in the plural: `images`. */
  readonly noun: string;
  /** What would become a card here, in a sentence. */
  readonly lesson: string;
}

/** What all walls of cards share. Which cards there are is for those who extend it to say. */
export abstract class CardWall<C extends Card> {
  readonly context: Context;
  readonly about: WallAbout;
  abstract readonly settings: WallSettings;
  /** What is shown, from top to bottom. */
  abstract readonly sections: readonly Section<C>[];

  /** The card that keys are for: the pointer or the focus is in it. */
  current = $state.raw<string | null>(null);

  readonly #shownTags: ShownTags;
  /** Names of the runs that are shown; null: all. */
  readonly runs = $derived.by(() => askedRuns(this.context.runs));
  /** The tags of all runs that belong here, in natural order. */
  readonly known = $derived.by(() => this.context.tags.rows.filter((row) => this.shows(row)));
  /** Those of them that the runs have that are shown. */
  readonly rows = $derived.by(() => this.join(this.#shownTags.filter(this.known)));
  /** Grows when one of the runs that are shown does. */
  readonly revision = $derived.by(() => {
    const { runs, live } = this.context;
    return runs.shown.reduce((sum, { name }) => sum + live.revisionOf(name), 0);
  });

  constructor(context: Context, about: WallAbout) {
    this.context = context;
    this.about = about;
    this.#shownTags = new ShownTags(context.tags);
  }

  protected abstract shows(row: TagRow): boolean;

  /** Where several tags are one thing, makes one row of theirs. */
  protected join(rows: readonly TagRow[]): readonly TagRow[] {
    return rows;
  }

  /** Keeps what is known in step with the page; to be called where effects live. */
  follow(): void {
    $effect(() => this.#shownTags.show(this.runs));
    $effect(() => {
      if (!this.context.live.paused) this.#shownTags.refresh(this.revision);
    });
    $effect(() => () => this.#shownTags.stop());
  }

  findCard(id: string): C | undefined {
    for (const { cards } of this.sections) {
      const card = cards.find((card) => card.id === id);
      if (card) return card;
    }
    return undefined;
  }

  /** What the Escape key does. */
  letGo(): void {
    const { fullScreen } = this.settings;
    if (fullScreen.value !== null) fullScreen.set(null, 'push');
  }
}
