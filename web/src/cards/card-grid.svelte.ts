/** The state of a card grid, which its cards share: layout, settings, full screen, drag and drop. */
import { getContext, setContext } from 'svelte';

import type { Query } from '../api/create-query.svelte';
import { defineQuery } from '../api/query-definition';
import type { TagNamesResponse, TagRow } from '../api/schemas';
import * as m from '../catalog/cards';
import * as common from '../catalog/common';
import type { MenuItem } from '../components/menu';
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

/** The names of the tags that at least one of the runs has. */
const tagNamesQuery = defineQuery('POST tags', { scope: ({ runs }) => ({ runs }) });

export interface CardGridInfo {
  /** Name of the dashboard, also used as the key of its preferences. */
  readonly name: string;
  readonly title: string;
  /** For example "No images yet." */
  readonly emptyTitle: string;
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

  /** There are no cards for tags that no visible run has. Null until effects are started. */
  #tagNames = $state.raw<Query<TagNamesResponse> | null>(null);
  /** Names of the visible runs; null means all. */
  readonly requestedRuns = $derived.by(() => requestedRuns(this.context.runs));
  /** The tags of this dashboard in all runs, in natural order. */
  readonly allRows = $derived.by(() =>
    this.context.tags.rows.filter((row) => this.includesTag(row)),
  );
  /** The tags that a visible run has. */
  readonly visibleRows = $derived.by(() => this.mergeRows(this.#filterRows(this.allRows)));
  /** Increases when a visible run gets new data. */
  readonly revision = $derived.by(() => {
    const { runs, live } = this.context;
    return runs.visible.reduce((sum, { name }) => sum + live.getRevision(name), 0);
  });

  constructor(context: Context, info: CardGridInfo) {
    this.context = context;
    this.info = info;
  }

  protected abstract includesTag(row: TagRow): boolean;

  /** Merges tags that are shown in one card. */
  protected mergeRows(rows: readonly TagRow[]): readonly TagRow[] {
    return rows;
  }

  /** Start to follow runs and live updates; call it where effects can be created. */
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

interface CardDragOptions {
  /** Type of the dragged data, which is the id of the card. */
  readonly mimeType: string;
  readonly effect: 'link' | 'move';
  readonly id: () => string;
  /** Returns whether the dropped card was accepted. */
  readonly onDrop: (id: string) => boolean;
}

/** Drag and drop of cards by their header. */
export class CardDrag {
  isDropTarget = $state(false);
  readonly #drop: CardDragOptions;

  constructor(drop: CardDragOptions) {
    this.#drop = drop;
  }

  readonly start = (event: DragEvent): void => {
    const { mimeType, effect, id } = this.#drop;
    event.dataTransfer?.setData(mimeType, id());
    if (event.dataTransfer) event.dataTransfer.effectAllowed = effect;
  };

  readonly over = (event: DragEvent): void => {
    if (!event.dataTransfer?.types.includes(this.#drop.mimeType)) return;
    event.preventDefault();
    this.isDropTarget = true;
  };

  readonly leave = (): void => {
    this.isDropTarget = false;
  };

  readonly drop = (event: DragEvent): void => {
    this.isDropTarget = false;
    const { mimeType, id, onDrop } = this.#drop;
    const other = event.dataTransfer?.getData(mimeType) ?? '';
    if (other !== '' && other !== id() && onDrop(other)) event.preventDefault();
  };
}

/** A board that shows cards of several dashboards, such as a workspace. */
export interface CardHost {
  /** Replaces the items that put a card on a board. */
  readonly menu: readonly (readonly MenuItem[])[];
  /** Given, the header of the card can be dragged. */
  readonly ondragheader: ((event: DragEvent) => void) | undefined;
}

const HOST_KEY = 'card-host';

/** Return the board that the card of this component is on; a dashboard is none. */
export const findCardHost = (): CardHost | undefined => getContext(HOST_KEY);

export const setCardHost = (host: CardHost): CardHost => setContext(HOST_KEY, host);
