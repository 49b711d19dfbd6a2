/** State of the Custom scalars dashboard: the selected layout and unsaved changes. */
import { createContext } from 'svelte';

import type { Query } from '../../api/create-query.svelte';
import { NotExportedError } from '../../api/errors';
import { defineQuery } from '../../api/query-definition';
import type { CustomScalarsLayoutResponse, Problem } from '../../api/schemas';
import type { CardGridInfo } from '../../cards/card-grid.svelte';
import * as m from '../../catalog/custom_scalars';
import { optionalText } from '../../lib/codecs';
import type { Context, Param } from '../../plugin/context';
import { ScalarGridState } from '../../scalar-cards/scalar-grid.svelte';
import { createScalarSettings } from '../../scalar-cards/scalar-settings';
import {
  buildLayoutSections,
  type ChartLayout,
  CollapsedSections,
  type LayoutChartCardModel,
  layoutCodec,
  makeCategoryKey,
} from './chart-layout';

const INFO: CardGridInfo = {
  name: 'custom_scalars',
  title: m.title,
  emptyTitle: m.emptyTitle,
  emptyHint: m.emptyHint,
};

/** The name of the layout in the log; saved layouts have a name. */
export const LOGGED_LAYOUT = '';
const LAYOUT_TAG = 'custom_scalars__config__';
const NO_LAYOUT: CustomScalarsLayoutResponse = { categories: [], runs: [], problems: [] };

/** The layout in the log. A static export does not have the response if there is no layout. */
const layoutQuery = defineQuery('GET custom_scalars/layout', { scope: 'immutable' });

export class CustomScalarsDashboard extends ScalarGridState<LayoutChartCardModel> {
  #loggedLayout = $state.raw<Query<CustomScalarsLayoutResponse> | null>(null);
  readonly #selectedName: Param<string | null>;
  readonly #draft: Param<ChartLayout | null>;

  readonly layoutNames = $derived.by(() => [
    ...((this.loggedLayout?.categories.length ?? 0) > 0 ? [LOGGED_LAYOUT] : []),
    ...this.context.notes.layouts.map(({ name }) => name),
  ]);
  /** The selected layout; null if there is none. */
  readonly layoutName = $derived.by(() => this.#selectedName.value ?? this.layoutNames[0] ?? null);
  readonly #savedLayout = $derived.by((): ChartLayout => {
    if (this.layoutName === LOGGED_LAYOUT) return this.loggedLayout?.categories ?? [];
    return (
      this.context.notes.layouts.find(({ name }) => name === this.layoutName)?.categories ?? []
    );
  });
  /** The layout with unsaved changes. */
  readonly layout = $derived.by((): ChartLayout => this.#draft.value ?? this.#savedLayout);
  readonly sections = $derived.by(() =>
    buildLayoutSections(
      this.layout,
      this.visibleRows.map(({ tag }) => tag),
      this.settings.filter.value,
      this.settings.pinned.value,
    ),
  );

  constructor(context: Context) {
    const settings = createScalarSettings(context, INFO.name);
    const collapsed = new CollapsedSections(settings.collapsed);
    super(context, INFO, context.getApi('scalars'), { ...settings, collapsed });
    collapsed.setDefaults(() => this.layout.filter(({ closed }) => closed).map(makeCategoryKey));
    this.#selectedName = context.url.param('layout', optionalText, null);
    this.#draft = context.url.param('charts', layoutCodec, null);
  }

  /** null while loading. */
  get loggedLayout(): CustomScalarsLayoutResponse | null {
    return this.#loggedLayout?.data ?? (this.#loggedLayout?.error ? NO_LAYOUT : null);
  }

  /** Why the layout in the log could not be loaded. */
  get error(): Problem | null {
    const error = this.#loggedLayout?.error;
    return error instanceof NotExportedError ? null : (error?.problem ?? null);
  }

  /** Whether there are unsaved changes, which are only in the URL. */
  get hasDraft(): boolean {
    return this.#draft.value !== null;
  }

  override startEffects(): void {
    super.startEffects();
    const { tags, queries } = this.context;
    this.#loggedLayout = this.context.query(layoutQuery, () => ({}));
    const count = $derived(tags.rows.find(({ tag }) => tag === LAYOUT_TAG)?.count ?? 0);
    $effect(() => {
      void count;
      queries.invalidate(layoutQuery);
    });
  }

  selectLayout(name: string | null): void {
    this.#selectedName.set(name, 'push');
    this.#draft.set(null);
  }

  /** Show a changed layout; it is part of the URL and of the browser history. */
  setDraft(layout: ChartLayout): void {
    this.#draft.set(layout, 'push');
  }

  discardDraft(): void {
    this.#draft.set(null, 'push');
  }

  /** Save the layout under a name, for all users of the log. */
  async saveLayout(name: string): Promise<void> {
    await this.context.notes.saveLayout(name, this.layout);
    this.selectLayout(name);
  }

  async deleteLayout(name: string): Promise<void> {
    await this.context.notes.saveLayout(name, null);
    this.selectLayout(null);
  }
}

export const [getCustomScalars, setCustomScalars] = createContext<CustomScalarsDashboard>();
