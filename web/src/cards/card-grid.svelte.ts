import type { Query } from '../api/create-query.svelte';
import { defineQuery } from '../api/query-definition';
import type { TagNamesResponse, TagRow } from '../api/schemas';
import type { Context, Shortcut } from '../plugin/context';
import {
  buildSections,
  type Card,
  createTagCard,
  requestedRuns,
  rowsWithTags,
  type Section,
  type TagCard,
} from './card-sections';
import { type CardGridSettings, createCardGridSettings, toggleItem } from './grid-settings';

/** The names of the tags that any of some runs has. */
const tagNamesQuery = defineQuery('POST tags', { scope: ({ runs }) => ({ runs }) });

/** What a wall is called and is about. */
export interface CardGridInfo {
  /** As the server calls the dashboard; the browser remembers tastes by it. */
  readonly name: string;
  readonly title: string;
  /** What is shown, in the plural: `images`. */
  readonly noun: string;
  /** What would become a card here, in a sentence. */
  readonly emptyHint: string;
}

/** What all walls of cards share. Which cards there are is for those who extend it to say. */
export abstract class CardGridState<C extends Card> {
  readonly context: Context;
  readonly info: CardGridInfo;
  abstract readonly settings: CardGridSettings;
  /** What is shown, from top to bottom. */
  abstract readonly sections: readonly Section<C>[];

  /** The card that keys are for: the pointer or the focus is in it. */
  activeCardId = $state.raw<string | null>(null);

  /** There are no cards for tags that no visible run has. Null until effects are started. */
  #tagNames = $state.raw<Query<TagNamesResponse> | null>(null);
  /** Names of the runs that are shown; null: all. */
  readonly requestedRuns = $derived.by(() => requestedRuns(this.context.runs));
  /** The tags of all runs that belong here, in natural order. */
  readonly allRows = $derived.by(() =>
    this.context.tags.rows.filter((row) => this.includesTag(row)),
  );
  /** Those of them that the runs have that are shown. */
  readonly visibleRows = $derived.by(() => this.mergeRows(this.#filterRows(this.allRows)));
  /** Grows when one of the runs that are shown does. */
  readonly revision = $derived.by(() => {
    const { runs, live } = this.context;
    return runs.visible.reduce((sum, { name }) => sum + live.getRevision(name), 0);
  });

  constructor(context: Context, about: CardGridInfo) {
    this.context = context;
    this.info = about;
  }

  protected abstract includesTag(row: TagRow): boolean;

  /** Where several tags are one thing, makes one row of theirs. */
  protected mergeRows(rows: readonly TagRow[]): readonly TagRow[] {
    return rows;
  }

  /** Keeps what is known in step with the page; to be called where effects live. */
  startEffects(): void {
    this.#tagNames = this.context.query(tagNamesQuery, () => {
      const runs = this.requestedRuns;
      return runs && { runs };
    });
  }

  /** If the names cannot be loaded, empty cards are better than none. */
  #filterRows(rows: readonly TagRow[]): readonly TagRow[] {
    const query = this.#tagNames;
    const names = query?.status === 'error' ? undefined : query?.data?.tags;
    return names ? rowsWithTags(rows, names) : rows;
  }

  findCard(id: string): C | undefined {
    for (const { cards } of this.sections) {
      const card = cards.find((card) => card.id === id);
      if (card) return card;
    }
    return undefined;
  }

  /** What the Escape key does. */
  clearSelection(): void {
    const { fullScreen } = this.settings;
    if (fullScreen.value !== null) fullScreen.set(null, 'push');
  }
}

export interface TagGridInfo extends CardGridInfo {
  /** The plugins whose tags are shown. */
  readonly plugins: readonly string[];
  /** How wide a card is, in pixels, until somebody says otherwise. */
  readonly defaultWidth: number;
  /** Where several tags are one thing, makes one row of theirs. */
  readonly mergeRows?: (rows: readonly TagRow[]) => readonly TagRow[];
}

/** A wall with one card for each tag of some plugins. */
export class TagGridState extends CardGridState<TagCard> {
  readonly settings: CardGridSettings;
  readonly #about: TagGridInfo;

  readonly sections = $derived.by(() =>
    buildSections(this.visibleRows, createTagCard, {
      filter: this.settings.filter.value,
      pinned: this.settings.pinned.value,
    }),
  );

  constructor(context: Context, about: TagGridInfo) {
    super(context, about);
    this.settings = createCardGridSettings(context, about.name, about.defaultWidth);
    this.#about = about;
  }

  protected override includesTag({ plugin }: TagRow): boolean {
    return this.#about.plugins.includes(plugin);
  }

  protected override mergeRows(rows: readonly TagRow[]): readonly TagRow[] {
    return this.#about.mergeRows?.(rows) ?? rows;
  }
}

/** The keys that all walls have; returns how to take them back. */
export function registerGridShortcuts<C extends Card>(
  wall: CardGridState<C>,
  focusFilter: () => void,
  hasPanel: boolean,
): () => void {
  const group = wall.info.title;
  const stops = gridShortcuts(wall, focusFilter, hasPanel).map((key) =>
    wall.context.shortcuts.register({ ...key, group }),
  );
  return () => stops.forEach((stop) => stop());
}

function gridShortcuts<C extends Card>(
  wall: CardGridState<C>,
  focusFilter: () => void,
  hasPanel: boolean,
): Omit<Shortcut, 'group'>[] {
  const { panel, pinned, fullScreen } = wall.settings;
  const settings = { keys: 's', label: 'Settings', run: () => panel.set(!panel.value) };
  return [
    { keys: 'f', label: 'Filter tags', run: focusFilter },
    ...(hasPanel ? [settings] : []),
    {
      keys: 'm',
      label: 'Full screen, and back',
      run: () => fullScreen.set(fullScreen.value === null ? wall.activeCardId : null, 'push'),
    },
    {
      keys: 'p',
      label: 'Pin card',
      run: () =>
        wall.activeCardId !== null && pinned.set(toggleItem(pinned.value, wall.activeCardId)),
    },
    { keys: 'Escape', label: 'Let go, or leave the full screen', run: () => wall.clearSelection() },
  ];
}
