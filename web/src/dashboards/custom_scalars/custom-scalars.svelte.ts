import { createContext } from 'svelte';

import { ApiError, problemOf } from '../../api/client';
import type { LayoutCategory } from '../../api/notes';
import type { Problem } from '../../api/types';
import { optionalText } from '../../base/codec';
import { Pace } from '../../base/pace';
import { CurveWall } from '../../curves/curve-wall.svelte';
import { openSettings } from '../../curves/state/settings';
import type { Context, Param } from '../../plugin/context';
import type { WallAbout } from '../../wall/card-wall.svelte';
import { Folding } from './folding';
import { buildLayout, keyOf, type LayoutCard } from './layout/cards';
import { layoutCodec } from './layout/codec';
import type { Layout } from './layout/layout';

interface LoggedLayout {
  readonly categories: readonly LayoutCategory[];
  readonly runs: readonly string[];
  readonly problems: readonly string[];
}

const ABOUT: WallAbout = {
  name: 'custom_scalars',
  title: 'Custom scalars',
  noun: 'scalars',
  lesson: 'A number logged at a step becomes a point here, within a second.',
};

/** The name of the layout that the log holds; others have names that are not empty. */
export const LOGGED = '';
const LAYOUT_TAG = 'custom_scalars__config__';
const NOT_FOUND = 404;
const PAUSE_MS = 2000;
const NOTHING: LoggedLayout = { categories: [], runs: [], problems: [] };

/** Charts as somebody laid them out: in the log, beside it, or just now in this page. */
export class CustomScalars extends CurveWall<LayoutCard> {
  /** null: not known yet. */
  logged = $state.raw<LoggedLayout | null>(null);
  /** Why the layout of the log did not come. */
  problem = $state.raw<Problem | null>(null);

  readonly #chosen: Param<string | null>;
  readonly #draft: Param<Layout | null>;
  readonly #pace = new Pace(() => this.#load(), PAUSE_MS);

  /** The names of the layouts that there are. */
  readonly names = $derived.by(() => [
    ...((this.logged?.categories.length ?? 0) > 0 ? [LOGGED] : []),
    ...this.context.notes.layouts.map(({ name }) => name),
  ]);
  /** The one that is looked at; null where there is none. */
  readonly name = $derived.by(() => this.#chosen.value ?? this.names[0] ?? null);
  /** As it is kept. */
  readonly #kept = $derived.by((): Layout => {
    if (this.name === LOGGED) return this.logged?.categories ?? [];
    return this.context.notes.layouts.find(({ name }) => name === this.name)?.categories ?? [];
  });
  /** As it is shown. */
  readonly layout = $derived.by((): Layout => this.#draft.value ?? this.#kept);
  readonly sections = $derived.by(() =>
    buildLayout(
      this.layout,
      this.rows.map(({ tag }) => tag),
      this.settings.filter.value,
      this.settings.pinned.value,
    ),
  );

  constructor(context: Context) {
    const settings = openSettings(context, ABOUT.name);
    const folded = new Folding(settings.folded);
    super(context, ABOUT, context.apiOf('scalars'), { ...settings, folded });
    folded.startFrom(() => this.layout.filter(({ closed }) => closed).map(keyOf));
    this.#chosen = context.address.param('layout', optionalText, null);
    this.#draft = context.address.param('charts', layoutCodec, null);
  }

  /** Whether something was changed that is kept nowhere but in the address. */
  get isEdited(): boolean {
    return this.#draft.value !== null;
  }

  override follow(): void {
    super.follow();
    const { tags } = this.context;
    const count = $derived(tags.rows.find(({ tag }) => tag === LAYOUT_TAG)?.count ?? 0);
    $effect(() => {
      void count;
      this.#pace.askNow();
    });
  }

  choose(name: string | null): void {
    this.#chosen.set(name, 'push');
    this.#draft.set(null);
  }

  /** Shows something else, so that a link to it shows the same and the way back leads here. */
  change(layout: Layout): void {
    this.#draft.set(layout, 'push');
  }

  discard(): void {
    this.#draft.set(null, 'push');
  }

  /** Keeps what is shown under a name, for everybody who looks at this log. */
  async save(name: string): Promise<void> {
    await this.context.notes.keepLayout(name, this.layout);
    this.choose(name);
  }

  async remove(name: string): Promise<void> {
    await this.context.notes.keepLayout(name, null);
    this.choose(null);
  }

  async #load(): Promise<void> {
    try {
      this.logged = await this.context.api.get<LoggedLayout>('layout');
      this.problem = null;
    } catch (error) {
      // A copy of a board carries no layout where there is none.
      const isNone = error instanceof ApiError && error.status === NOT_FOUND;
      this.logged ??= NOTHING;
      this.problem = isNone ? null : problemOf(error);
    }
  }
}

export const [getCustom, setCustom] = createContext<CustomScalars>();
