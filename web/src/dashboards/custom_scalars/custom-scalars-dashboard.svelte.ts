import { createContext } from 'svelte';

import type { LayoutCategory } from '../../api/client';
import { ServerError, toProblem } from '../../api/errors';
import type { Problem } from '../../api/schemas';
import { optionalText } from '../../lib/codecs';
import { RequestScheduler } from '../../api/request-scheduler';
import { ScalarGridState } from '../../scalar-cards/scalar-grid.svelte';
import { createScalarSettings } from '../../scalar-cards/scalar-settings';
import type { Context, Param } from '../../plugin/context';
import type { CardGridInfo } from '../../cards/card-grid.svelte';
import {
  buildLayoutSections,
  CollapsedSections,
  type LayoutChartCardModel,
  makeCategoryKey,
} from './layout-cards';
import { type ChartLayout, layoutCodec } from './chart-layout';

interface LayoutResponse {
  readonly categories: readonly LayoutCategory[];
  readonly runs: readonly string[];
  readonly problems: readonly string[];
}

const INFO: CardGridInfo = {
  name: 'custom_scalars',
  title: 'Custom scalars',
  noun: 'scalars',
  emptyHint: 'A number logged at a step becomes a point here, within a second.',
};

/** The name of the layout that the log holds; others have names that are not empty. */
export const LOGGED_LAYOUT = '';
const LAYOUT_TAG = 'custom_scalars__config__';
const NOT_FOUND = 404;
const MIN_REFRESH_MS = 2000;
const NO_LAYOUT: LayoutResponse = { categories: [], runs: [], problems: [] };

/** Charts as somebody laid them out: in the log, beside it, or just now in this page. */
export class CustomScalarsDashboard extends ScalarGridState<LayoutChartCardModel> {
  /** null: not known yet. */
  loggedLayout = $state.raw<LayoutResponse | null>(null);
  /** Why the layout of the log did not come. */
  error = $state.raw<Problem | null>(null);

  readonly #selectedName: Param<string | null>;
  readonly #draft: Param<ChartLayout | null>;
  readonly #scheduler = new RequestScheduler(() => this.#load(), MIN_REFRESH_MS);

  /** The names of the layouts that there are. */
  readonly layoutNames = $derived.by(() => [
    ...((this.loggedLayout?.categories.length ?? 0) > 0 ? [LOGGED_LAYOUT] : []),
    ...this.context.notes.layouts.map(({ name }) => name),
  ]);
  /** The one that is looked at; null where there is none. */
  readonly layoutName = $derived.by(() => this.#selectedName.value ?? this.layoutNames[0] ?? null);
  /** As it is kept. */
  readonly #savedLayout = $derived.by((): ChartLayout => {
    if (this.layoutName === LOGGED_LAYOUT) return this.loggedLayout?.categories ?? [];
    return (
      this.context.notes.layouts.find(({ name }) => name === this.layoutName)?.categories ?? []
    );
  });
  /** As it is shown. */
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
    const folded = new CollapsedSections(settings.collapsed);
    super(context, INFO, context.getApi('scalars'), { ...settings, collapsed: folded });
    folded.setDefaults(() => this.layout.filter(({ closed }) => closed).map(makeCategoryKey));
    this.#selectedName = context.url.param('layout', optionalText, null);
    this.#draft = context.url.param('charts', layoutCodec, null);
  }

  /** Whether something was changed that is kept nowhere but in the address. */
  get hasDraft(): boolean {
    return this.#draft.value !== null;
  }

  override startEffects(): void {
    super.startEffects();
    const { tags } = this.context;
    const count = $derived(tags.rows.find(({ tag }) => tag === LAYOUT_TAG)?.count ?? 0);
    $effect(() => {
      void count;
      this.#scheduler.scheduleNow();
    });
  }

  selectLayout(name: string | null): void {
    this.#selectedName.set(name, 'push');
    this.#draft.set(null);
  }

  /** Shows something else, so that a link to it shows the same and the way back leads here. */
  setDraft(layout: ChartLayout): void {
    this.#draft.set(layout, 'push');
  }

  discardDraft(): void {
    this.#draft.set(null, 'push');
  }

  /** Keeps what is shown under a name, for everybody who looks at this log. */
  async saveLayout(name: string): Promise<void> {
    await this.context.notes.saveLayout(name, this.layout);
    this.selectLayout(name);
  }

  async deleteLayout(name: string): Promise<void> {
    await this.context.notes.saveLayout(name, null);
    this.selectLayout(null);
  }

  async #load(): Promise<void> {
    try {
      this.loggedLayout = await this.context.api.get<LayoutResponse>('layout');
      this.error = null;
    } catch (error) {
      // A copy of a board carries no layout where there is none.
      const isNone = error instanceof ServerError && error.status === NOT_FOUND;
      this.loggedLayout ??= NO_LAYOUT;
      this.error = isNone ? null : toProblem(error);
    }
  }
}

export const [getCustomScalars, setCustomScalars] = createContext<CustomScalarsDashboard>();
