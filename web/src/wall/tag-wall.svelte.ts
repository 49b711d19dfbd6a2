import type { TagRow } from '../api/types';
import type { Context } from '../plugin/context';
import { type TagCard, tagCardOf } from './card';
import { CardWall, type WallAbout } from './card-wall.svelte';
import { buildSections } from './sections';
import { openWallSettings, type WallSettings } from './settings';

export interface TagWallAbout extends WallAbout {
  /** The plugins whose tags are shown. */
  readonly plugins: readonly string[];
  /** How wide a card is, in pixels, until somebody says otherwise. */
  readonly usualWidth: number;
  /** Where several tags are one thing, makes one row of theirs. */
  readonly join?: (rows: readonly TagRow[]) => readonly TagRow[];
}

/** A wall with one card for each tag of some plugins. */
export class TagWall extends CardWall<TagCard> {
  readonly settings: WallSettings;
  readonly #about: TagWallAbout;

  readonly sections = $derived.by(() =>
    buildSections(this.rows, tagCardOf, {
      filter: this.settings.filter.value,
      pinned: this.settings.pinned.value,
    }),
  );

  constructor(context: Context, about: TagWallAbout) {
    super(context, about);
    this.settings = openWallSettings(context, about.name, about.usualWidth);
    this.#about = about;
  }

  protected override shows({ plugin }: TagRow): boolean {
    return this.#about.plugins.includes(plugin);
  }

  protected override join(rows: readonly TagRow[]): readonly TagRow[] {
    return this.#about.join?.(rows) ?? rows;
  }
}
