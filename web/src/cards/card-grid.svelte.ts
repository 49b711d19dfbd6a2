/** The state of a card grid, which its cards share: layout, settings, full screen, drag and drop. */
import { getContext, setContext } from 'svelte';

import type { Query } from '../api/create-query.svelte';
import { defineQuery } from '../api/query-definition';
import type { TagNamesResponse, TagRow } from '../api/schemas';
import * as m from '../catalog/cards';
import * as common from '../catalog/common';
import type { MenuItem } from '../components/MenuItems.svelte';
import { type Codec, flag, list, number, optionalText, text } from '../lib/codecs';
import type { TextFilter } from '../lib/text-filter';
import type { Context, Param, Shortcut, UrlState } from '../plugin/context';
import {
  buildSections,
  type Card,
  createTagCard,
  requestedRuns,
  findRowsWithTags,
  type Section,
  type TagCard,
} from './card-sections';

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
    return names ? findRowsWithTags(rows, names) : rows;
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

/** A value per card; cards without a value are left out. */
export type PerCard<Value> = ReadonlyMap<string, Value>;

export const EMPTY_PER_CARD: PerCard<never> = new Map<string, never>();

export function withCardValue<Value>(
  map: PerCard<Value>,
  id: string,
  value: Value | null,
): PerCard<Value> {
  const changed = new Map(map);
  changed.delete(id);
  if (value !== null) changed.set(id, value);
  return changed;
}

/** Encoded as a flat list with a fixed number of fields per card: `loss,0,100,,2`. */
export function makePerCardCodec<Value>(
  fields: number,
  read: (texts: readonly string[]) => Value | null,
  write: (value: Value) => readonly string[],
): Codec<PerCard<Value>> {
  return {
    parse(text) {
      const texts = list.parse(text);
      const map = new Map<string, Value>();
      for (let at = 0; at + fields < texts.length; at += fields + 1) {
        const value = read(texts.slice(at + 1, at + 1 + fields));
        if (value !== null) map.set(texts[at] ?? '', value);
      }
      return map;
    },
    format: (map) => list.format([...map].flatMap(([id, value]) => [id, ...write(value)])),
  };
}

/** A list of cards, or `*` for all cards followed by exceptions. */
export interface CardSet {
  readonly all: boolean;
  readonly named: readonly string[];
}

export const NO_CARDS: CardSet = { all: false, named: [] };

export const cardSetCodec: Codec<CardSet> = {
  parse(text) {
    const names = list.parse(text);
    return names[0] === '*' ? { all: true, named: names.slice(1) } : { all: false, named: names };
  },
  format: ({ all, named }) => list.format(all ? ['*', ...named] : named),
};

export function hasCard({ all, named }: CardSet, id: string): boolean {
  return all !== named.includes(id);
}

export function toggleCard({ all, named }: CardSet, id: string): CardSet {
  return { all, named: toggleItem(named, id) };
}

export function toggleItem(names: readonly string[], name: string): readonly string[] {
  return names.includes(name) ? names.filter((other) => other !== name) : [...names, name];
}

/**
 * The tag filter. The regex flag is a separate parameter, so that it can be set while the text is
 * empty.
 */
export class TagFilterParam {
  readonly #text: Param<string>;
  readonly #regex: Param<boolean>;

  constructor(address: UrlState) {
    this.#text = address.param('tags', text, '');
    this.#regex = address.param('tags-regex', flag, false);
  }

  get value(): TextFilter {
    return { text: this.#text.value, regex: this.#regex.value };
  }

  set(filter: TextFilter): void {
    this.#text.set(filter.text);
    this.#regex.set(filter.regex);
  }
}

/** Range of card widths. */
export const CARD_WIDTH_PX = { smallest: 240, largest: 900 };

export type CardGridSettings = ReturnType<typeof createCardGridSettings>;

/** Settings of a card grid: URL parameters and preferences. */
export function createCardGridSettings(
  { url, preferences }: Pick<Context, 'url' | 'preferences'>,
  name: string,
  usualWidth: number,
) {
  return {
    filter: new TagFilterParam(url),
    pinned: url.param('pinned', list, []),
    collapsed: url.param('collapsed', list, []),
    /** Full-width cards. */
    wide: url.param('wide', list, []),
    fullScreen: url.param('card', optionalText, null),
    panel: preferences.param(`${name}-panel`, flag, false),
    cardWidth: preferences.param(`${name}-card`, number(usualWidth), usualWidth),
  };
}
