import * as common from '../catalog/common';
import * as m from '../catalog/cards';
import { isAbortError } from '../api/client';
import { RequestScheduler } from '../api/request-scheduler';
import type { TagRow } from '../api/schemas';
import type { Context, Shortcut, Tags } from '../plugin/context';
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

const TAGS_REFRESH_MS = 1000;

/** The tags of the visible runs. Tags that no visible run has get no card. */
export class VisibleTags {
  /** null if unknown: show all tags. */
  #names = $state.raw<readonly string[] | null>(null);
  readonly #tags: Tags;
  readonly #scheduler = new RequestScheduler(() => this.#load(), TAGS_REFRESH_MS);
  #runs: readonly string[] | null = null;
  #revision = -1;
  #abort = new AbortController();

  constructor(tags: Tags) {
    this.#tags = tags;
  }

  /** null means all runs. */
  setRuns(runs: readonly string[] | null): void {
    this.#runs = runs;
    this.#abort.abort();
    if (runs === null) this.#names = null;
    else this.#scheduler.scheduleNow();
  }

  /** Reload after new data, rate limited. */
  refresh(revision: number): void {
    if (revision === this.#revision) return;
    this.#revision = revision;
    if (this.#runs !== null) this.#scheduler.schedule();
  }

  stop(): void {
    this.#runs = null;
    this.#abort.abort();
  }

  filter(rows: readonly TagRow[]): readonly TagRow[] {
    return this.#names === null ? rows : rowsWithTags(rows, this.#names);
  }

  async #load(): Promise<void> {
    const runs = this.#runs;
    this.#abort = new AbortController();
    if (runs === null) return;
    try {
      const names = await this.#tags.listNames(runs, this.#abort.signal);
      if (runs === this.#runs) this.#names = names;
    } catch (error) {
      // Fall back to all tags: empty cards are better than none.
      if (!isAbortError(error)) this.#names = null;
    }
  }
}

export interface CardGridInfo {
  /** Name of the dashboard, also used as the key of its preferences. */
  readonly name: string;
  readonly title: string;
  /** For example "No images yet." */
  readonly emptyTitle?: string;
  /** Deprecated: builds the empty title from a plural noun, `images`. */
  readonly noun: string;
  /** How to log data that is shown here. */
  readonly emptyHint: string;
}

/** State of a dashboard with cards. Subclasses define the cards. */
export abstract class CardGridState<C extends Card> {
  readonly context: Context;
  readonly info: CardGridInfo;
  abstract readonly settings: CardGridSettings;
  abstract readonly sections: readonly Section<C>[];

  /** The card that keyboard shortcuts apply to: the one with the pointer or the focus. */
  activeCardId = $state.raw<string | null>(null);

  readonly #visibleTags: VisibleTags;
  /** Names of the visible runs; null means all. */
  readonly requestedRuns = $derived.by(() => requestedRuns(this.context.runs));
  /** The tags of this dashboard in all runs, in natural order. */
  readonly allRows = $derived.by(() =>
    this.context.tags.rows.filter((row) => this.includesTag(row)),
  );
  /** The tags that a visible run has. */
  readonly visibleRows = $derived.by(() => this.mergeRows(this.#visibleTags.filter(this.allRows)));
  /** Increases when a visible run gets new data. */
  readonly revision = $derived.by(() => {
    const { runs, live } = this.context;
    return runs.visible.reduce((sum, { name }) => sum + live.getRevision(name), 0);
  });

  constructor(context: Context, info: CardGridInfo) {
    this.context = context;
    this.info = info;
    this.#visibleTags = new VisibleTags(context.tags);
  }

  protected abstract includesTag(row: TagRow): boolean;

  /** Merges tags that are shown in one card. */
  protected mergeRows(rows: readonly TagRow[]): readonly TagRow[] {
    return rows;
  }

  /** Start to follow runs and live updates; call it where effects can be created. */
  startEffects(): void {
    $effect(() => this.#visibleTags.setRuns(this.requestedRuns));
    $effect(() => {
      if (!this.context.live.isPaused) this.#visibleTags.refresh(this.revision);
    });
    $effect(() => () => this.#visibleTags.stop());
  }

  findCard(id: string): C | undefined {
    for (const { cards } of this.sections) {
      const card = cards.find((card) => card.id === id);
      if (card) return card;
    }
    return undefined;
  }

  /** Handle Escape: leave full screen. */
  clearSelection(): void {
    const { fullScreen } = this.settings;
    if (fullScreen.value !== null) fullScreen.set(null, 'push');
  }
}

export interface TagGridInfo extends CardGridInfo {
  readonly plugins: readonly string[];
  /** Default card width in pixels. */
  readonly defaultWidth: number;
  /** Merges tags that are shown in one card. */
  readonly mergeRows?: (rows: readonly TagRow[]) => readonly TagRow[];
}

/** A grid with one card per tag. */
export class TagGridState extends CardGridState<TagCard> {
  readonly settings: CardGridSettings;
  readonly #gridInfo: TagGridInfo;

  readonly sections = $derived.by(() =>
    buildSections(this.visibleRows, createTagCard, {
      filter: this.settings.filter.value,
      pinned: this.settings.pinned.value,
    }),
  );

  constructor(context: Context, info: TagGridInfo) {
    super(context, info);
    this.settings = createCardGridSettings(context, info.name, info.defaultWidth);
    this.#gridInfo = info;
  }

  protected override includesTag({ plugin }: TagRow): boolean {
    return this.#gridInfo.plugins.includes(plugin);
  }

  protected override mergeRows(rows: readonly TagRow[]): readonly TagRow[] {
    return this.#gridInfo.mergeRows?.(rows) ?? rows;
  }
}

/** Register the keyboard shortcuts of a card grid; return a function that removes them. */
export function registerGridShortcuts<C extends Card>(
  grid: CardGridState<C>,
  focusFilter: () => void,
  hasPanel: boolean,
): () => void {
  const group = grid.info.title;
  const stops = gridShortcuts(grid, focusFilter, hasPanel).map((key) =>
    grid.context.shortcuts.register({ ...key, group }),
  );
  return () => stops.forEach((stop) => stop());
}

function gridShortcuts<C extends Card>(
  grid: CardGridState<C>,
  focusFilter: () => void,
  hasPanel: boolean,
): Omit<Shortcut, 'group'>[] {
  const { panel, pinned, fullScreen } = grid.settings;
  const settings = { keys: 's', label: common.settings, run: () => panel.set(!panel.value) };
  return [
    { keys: 'f', label: common.filterTags, run: focusFilter },
    ...(hasPanel ? [settings] : []),
    {
      keys: 'm',
      label: m.toggleFullScreen,
      run: () => fullScreen.set(fullScreen.value === null ? grid.activeCardId : null, 'push'),
    },
    {
      keys: 'p',
      label: m.togglePin,
      run: () =>
        grid.activeCardId !== null && pinned.set(toggleItem(pinned.value, grid.activeCardId)),
    },
    { keys: 'Escape', label: m.escape, run: () => grid.clearSelection() },
  ];
}
